"""Rules: what does the simplest statement about the data already achieve?"""
