"""A model's life outside the program that fitted it: files, profiles, runs."""
