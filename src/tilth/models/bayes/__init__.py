"""Bayes: which class makes these values most likely?"""
