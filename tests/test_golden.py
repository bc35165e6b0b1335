"""Golden predictions: every estimator on three tables must answer as it did. ``pytest --golden`` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tilth.base import Predictor
from tilth.models.catalogue import all_estimators
from tilth.testing.kinds import answers, data_for, fitted

FOLDER = Path(__file__).parent / "golden"
TABLES = {
    "numbers": {"kinds": ("numeric",)},
    "mixed": {},
    "missing": {"missing": True, "seed": 1},
}


@pytest.mark.parametrize("name", [n for n, c in all_estimators().items() if issubclass(c, Predictor)])
def test_golden(name, request):
    cls = all_estimators()[name]
    made = {}
    for table, options in TABLES.items():
        model = cls(**cls.check_with[0])
        data = data_for(model, n=60, **options)
        made[table] = np.round(answers(fitted(model, data), data.X.head(8)), 10).tolist()
    path = FOLDER / f"{name}.json"
    if request.config.getoption("--golden"):
        path.write_text(json.dumps(made, indent=1) + "\n")
    assert path.exists(), f"{path.name} is missing; pytest --golden writes it"
    for table, values in json.loads(path.read_text()).items():
        np.testing.assert_allclose(made[table], values, rtol=1e-7, atol=1e-9, err_msg=f"{name} on {table}")
