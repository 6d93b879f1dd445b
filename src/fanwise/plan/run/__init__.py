"""Runs a plan: its items, the work of each, and what is kept."""
