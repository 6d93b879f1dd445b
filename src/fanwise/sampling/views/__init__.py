"""What people see: text, and a progress bar."""
