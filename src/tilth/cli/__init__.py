"""The command line: ``tilth run``, ``profile``, ``audit``, ``models``, ``datasets``, ``show``, ``predict``."""
