"""Golden answers: every estimator on three tables must answer as it did. ``pytest --golden`` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tilth._registry import ESTIMATORS
from tilth.models.catalogue import estimator_class
from tilth.testing.kinds import answers, data_for, fitted

FOLDER = Path(__file__).parent / "golden"
TABLES = {
    "numbers": {"kinds": ("numeric",)},
    "mixed": {},
    "missing": {"missing": True, "seed": 1},
}


def test_every_golden_file_has_its_estimator():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_golden(name, request):
    cls = estimator_class(name)
    rows = {}
    for table, options in TABLES.items():
        model = cls(**cls.check_with[0])
        data = data_for(model, n=60, **options)
        values = np.round(answers(fitted(model, data), data.head(8)), 10)
        rows[table] = np.where(np.isnan(values), None, values).tolist()
    path = FOLDER / f"{name}.json"
    if request.config.getoption("--golden"):
        path.write_text(json.dumps(rows, indent=1) + "\n")
    assert path.exists(), f"{path.name} is missing; pytest --golden writes it"
    for table, values in json.loads(path.read_text()).items():
        now, then = (np.array(v, dtype=np.float64) for v in (rows[table], values))
        np.testing.assert_allclose(now, then, rtol=1e-7, atol=1e-9, err_msg=f"{name} on {table}")
