"""The pure part: no await, no clock, no chance, no files. Time and random numbers are arguments."""
