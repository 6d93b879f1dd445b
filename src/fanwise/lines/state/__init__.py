"""How far a map has come: pure, from outcomes or from the journal."""
