"""What a suite would ask, without asking it."""
