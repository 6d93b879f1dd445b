"""Modules that are put before the user's own: nothing here may import fanwise."""
