"""Sequences: which label does each step have?"""
