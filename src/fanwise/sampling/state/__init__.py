"""What is known while samples are made, and what comes of it. Pure."""
