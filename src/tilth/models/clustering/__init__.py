"""Clusters: which rows belong together?"""
