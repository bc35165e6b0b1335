"""Anomalies: which rows are unlike the others?"""
