"""The only loop: fan-outs, calls, runs, and the virtual clock."""
