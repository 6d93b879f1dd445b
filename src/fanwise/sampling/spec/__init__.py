"""What people write under `sample:`."""
