"""Recommendation: which items suit a user?"""
