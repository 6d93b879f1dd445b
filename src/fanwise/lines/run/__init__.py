"""What happens in a map: lines become items, and items become output."""
