"""Facts about the machine and the libraries, so that a time can be judged later."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
PEERS = ("lightgbm", "xgboost", "catboost", "scikit-learn-intelex", "isotree")


def facts() -> dict[str, Any]:
    """Processor, cores, memory, versions, threads in use, and how busy the machine was."""
    import tilth

    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {"tilth": tilth.__version__} | _versions(),
        "threads": _threads(),
        "load": round(os.getloadavg()[0], 2),
    }


def describe(found: dict[str, Any]) -> str:
    """The facts in one sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    threads = ", ".join(f"{name} {count}" for name, count in found["threads"].items())
    return (
        f"{found['cpu']}, {found['cores']} cores, {found['memory_gb']} GB, {found['system']}, "
        f"Python {found['python']}, {versions}; threads: {threads}; load at the start: {found['load']}"
    )


def _versions() -> dict[str, str]:
    """Versions of what is needed, and of the peers that are installed."""
    found = {name: importlib.metadata.version(name) for name in LIBRARIES}
    for name in PEERS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _cpu() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


def _threads() -> dict[str, int]:
    """Threads of each numerical library that is loaded once tilth and scikit-learn are."""
    for module in ("numpy", "scipy.linalg", "sklearn.utils._openmp_helpers", "tilth._core"):
        importlib.import_module(module)
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    return {f"{pool['internal_api']} ({pool['user_api']})": pool["num_threads"] for pool in threadpool_info()}
