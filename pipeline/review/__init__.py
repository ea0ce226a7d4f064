"""The review page: a run to read conversation by conversation, and to label, in a browser."""
