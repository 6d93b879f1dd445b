"""Whether a candidate does what the original does: the same calls on both, and all that they do."""
