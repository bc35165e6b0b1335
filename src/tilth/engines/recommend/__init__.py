"""Engines over pairs of users and items."""
