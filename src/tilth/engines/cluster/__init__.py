"""The verb of clustering: move centres to the middle of their rows."""
