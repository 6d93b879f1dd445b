"""Who imports whom, by the import forms of each language. Pure."""
