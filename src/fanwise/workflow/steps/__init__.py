"""What each kind of leaf does: one file for each, behind one small contract (`port.py`)."""
