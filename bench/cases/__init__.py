"""One file for each case: its contenders, and `measure() -> list[Row]`."""
