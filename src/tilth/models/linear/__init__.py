"""Linear models: how much does each column count, and how sure is that?"""
