"""Decisions: what to answer, how sure to say it is, and what else it may be - around any other model."""
