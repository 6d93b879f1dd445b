"""Writing outputs in order, exactly once, also across a kill and a resume."""
