"""From the journal to what people see. Nothing here writes or runs anything."""
