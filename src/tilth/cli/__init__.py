"""The command line: one module for each command, listed in ``main.COMMANDS``."""
