"""What happens in a run: the items, the work of each, and what is kept."""
