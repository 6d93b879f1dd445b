"""What fanwise costs and gains, beside what people use instead. See README.md."""
