"""What happens: drafts and checks as items of one fan-out, and the hooks."""
