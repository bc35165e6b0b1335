"""Ensembles: many trees that answer together, side by side (forests) or one after the other (boosting)."""
