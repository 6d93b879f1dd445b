"""What a map does, as data: the command, its placeholders, when to halt."""
