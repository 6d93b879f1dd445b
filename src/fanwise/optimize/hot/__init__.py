"""Finding what is worth optimising: where a program spends its time, function by function."""
