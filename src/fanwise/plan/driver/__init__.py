"""A run: which sub-plan begins when, how what they changed comes together, and what came of it."""
