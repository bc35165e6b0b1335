"""Parts: the small nouns of the field. A part never sees the data matrix it will be used on."""
