"""A run: which candidate goes through which stage when, and what came of each."""
