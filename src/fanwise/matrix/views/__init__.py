"""The report of a matrix. Python computes rows, `templates/` lays them out."""
