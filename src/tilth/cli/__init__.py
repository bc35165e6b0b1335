"""The command line: ``tilth run``, ``profile``, ``models``, ``datasets``, ``show``, ``predict``."""
