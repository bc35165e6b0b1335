"""Options and surroundings of the suite."""

import os

# Before anything loads OpenMP: a thread that waits for work should sleep, because the suite may share the machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Texts are wrapped to the terminal, and the suite has none of a known width.
os.environ["COLUMNS"] = "110"


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="write golden predictions anew")
