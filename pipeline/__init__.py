"""From a suite and conversations to a run and a report."""
