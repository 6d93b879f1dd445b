"""How a request goes to each family of providers, and how the answer is read."""
