"""fanwise fans agent work out, within limits, and brings every result back."""
