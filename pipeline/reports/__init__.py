"""A run in other shapes: text, tables, result.json, CSV, JUnit, Markdown, a progress bar."""
