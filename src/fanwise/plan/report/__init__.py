"""A plan's run as a page: what it came to, the tree, who ran when, and how all came together."""
