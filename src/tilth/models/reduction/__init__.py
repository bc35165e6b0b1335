"""Fewer columns that say nearly the same."""
