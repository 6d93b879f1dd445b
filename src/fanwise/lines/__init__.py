"""`fanwise map`: a command for each line of the input, in parallel and in order."""
