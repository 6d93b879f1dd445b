"""What people read about a map."""
