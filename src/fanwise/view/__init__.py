"""What people see of runs: text, tables, HTML. Nothing here writes or runs anything."""
