"""A matrix as a page that people read: `fanwise report`. Each file makes a part of it."""
