"""Plans: a code base split into sub-plans, run side by side, and what they changed merged."""
