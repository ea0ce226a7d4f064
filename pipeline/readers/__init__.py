"""Readers: one small module a conversation format, each ending as the native conversation."""
