"""Every verdict that was ever obtained: stored once, found again, never asked twice."""
