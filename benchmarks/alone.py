"""One contestant in a fresh process: ``python -m benchmarks.alone WORKLOAD CONTESTANT [--quick]``."""

from __future__ import annotations

import json
import sys

from benchmarks.harness import alone
from benchmarks.workloads import WORKLOADS

if __name__ == "__main__":
    print(json.dumps(alone(WORKLOADS[sys.argv[1]], sys.argv[2], "--quick" in sys.argv)))
