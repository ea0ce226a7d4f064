"""The prompts judges are sent, as files."""
