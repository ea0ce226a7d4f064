"""One attempt at a model: what is sent, over which session, and what came of it."""
