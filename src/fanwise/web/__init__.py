"""The live view: `fanwise view` shows every run of a journal in the browser while it happens."""
