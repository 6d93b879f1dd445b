"""Merges what the leaves of a plan changed, in tree order and without a work tree."""
