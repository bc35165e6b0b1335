"""Options and surroundings of the suite."""

import os
import random

import pytest

# Before anything loads OpenMP: a thread that waits for work should sleep, because the suite may share the machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Texts are wrapped to the terminal, and the suite has none of a known width.
os.environ["COLUMNS"] = "110"


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="write golden predictions anew")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and tests within files, in random order")


def pytest_report_header(config):
    seed = config.getoption("shuffle")
    return None if seed is None else f"order: random, --shuffle {seed} repeats it"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Shuffle files, and tests within files: a fixture of a whole file is still made once."""
    seed = config.getoption("shuffle")
    if seed is None:
        return
    draw = random.Random(seed)
    files = {}
    for item in items:
        files.setdefault(item.nodeid.split("::")[0], []).append(item)
    for tests in files.values():
        draw.shuffle(tests)
    order = list(files)
    draw.shuffle(order)
    items[:] = [item for file in order for item in files[file]]
