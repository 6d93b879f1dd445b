"""Plots as inline SVG: data in, markup out.

They have no width: what is horizontal is in per cent of the page's, what is vertical in pixels. So
text has the same size on a phone as on a wide screen, and nothing has to be drawn again. Colours
are classes (`c0` to `c7`), which the page's style knows for light and for dark.
"""
