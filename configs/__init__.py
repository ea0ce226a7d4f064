"""Suites that ship with adjudge."""
