"""When a request may go out, and what may be asked again: governor, breaker, wallet, retry."""
