"""A split as people see it: text for terminals, SVG for pages. Pure."""
