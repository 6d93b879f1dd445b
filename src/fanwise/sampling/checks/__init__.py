"""What can be required of a sample, and how that is checked."""
