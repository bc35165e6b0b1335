"""Options and surroundings of the suite."""

import os

# Before anything loads OpenMP: a thread that waits for work should sleep, because the suite may share the machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="write golden predictions anew")
