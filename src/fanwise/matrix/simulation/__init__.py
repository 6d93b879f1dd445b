"""A matrix in virtual time: how long, how much, what binds, and what if."""
