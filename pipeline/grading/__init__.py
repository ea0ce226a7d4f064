"""From a plan to grades: one leg of a run."""
