"""A plan on a terminal while it runs: the part of its tree in which something happens."""
