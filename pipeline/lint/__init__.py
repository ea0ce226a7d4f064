"""Statements that a judge is likely to decide badly, found by their words before anybody is asked."""
