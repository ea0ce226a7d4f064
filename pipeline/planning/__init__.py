"""From a suite to a plan: everything that decides a run, frozen."""
