"""Search over subsets of columns: which to try next, how each is scored, when to stop."""
