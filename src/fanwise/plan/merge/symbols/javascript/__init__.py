"""The symbol gate for JavaScript and TypeScript, by a scan of what is exported and imported."""
