"""The tree engine: statistics per split, and the splits chosen from them. It begins with one-level rules."""
