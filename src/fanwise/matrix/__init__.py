"""Matrix: models by strategies by inputs by repeats, each cell recorded once, compared in pairs."""
