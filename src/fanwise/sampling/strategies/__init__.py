"""What a chain asks after a failure, and how a sample is chosen."""
