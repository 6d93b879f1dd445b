"""A run of optimize as people read it: a page, a table in markdown, rows for other programs."""
