"""A plan as people see it: the report, the page of a split, and its tree as text.

Python computes rows, `templates/` lays them out.
"""
