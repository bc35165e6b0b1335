"""Engines: the verbs. Every loop over rows is in here, or in the compiled core these call."""
