"""Whether a candidate is faster: measured beside the original, and told with its interval."""
