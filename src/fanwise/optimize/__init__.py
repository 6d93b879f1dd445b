"""Candidates for a faster program: checked in parallel, measured alone; a proven one wins."""
