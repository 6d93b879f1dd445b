"""A run of optimize as people see it: the report, a table in markdown, rows for `export`.

Python computes rows, `templates/` lays them out.
"""
