"""What is known of a run: pure, and built from its outcomes, live or recorded."""
