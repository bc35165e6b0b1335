"""Trees: which questions, asked one after the other, lead to the answer?"""
