"""What people write under `plan:`, and what it comes to in a repository."""
