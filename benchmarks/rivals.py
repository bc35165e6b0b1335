"""``python rivals.py TOOL train.csv test.csv target task seconds out.json``: another tool on the same files.

Runs with the interpreter of an environment in which only that tool is installed, so nothing of tilth is imported. Told
are the answers on the test rows, probabilities where there are any, and when the tool was ready.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any


def mljar(train: Any, test: Any, target: str, task: str, seconds: float) -> tuple[Any, Any, Any]:
    from supervised.automl import AutoML

    with tempfile.TemporaryDirectory() as folder:
        model = AutoML(mode="Perform", total_time_limit=round(seconds), results_path=f"{folder}/automl", random_state=0)
        model.fit(train.drop(columns=target), train[target])
        answers = model.predict(test)
        if task == "regression":
            return answers, None, None
        table = model.predict_all(test).filter(like="prediction_")
        return answers, table.to_numpy(), [c.removeprefix("prediction_") for c in table.columns]


def autogluon(train: Any, test: Any, target: str, task: str, seconds: float) -> tuple[Any, Any, Any]:
    from autogluon.tabular import TabularPredictor

    with tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor(label=target, path=folder).fit(train, time_limit=seconds)
        answers = model.predict(test).to_numpy()
        if task == "regression":
            return answers, None, None
        table = model.predict_proba(test)
        return answers, table.to_numpy(), list(table.columns)


def flaml(train: Any, test: Any, target: str, task: str, seconds: float) -> tuple[Any, Any, Any]:
    from flaml import AutoML

    model = AutoML()
    X = train.drop(columns=target)
    model.fit(X, train[target], task=task, time_budget=seconds, seed=0, verbose=3)
    answers = model.predict(test)
    if task == "regression":
        return answers, None, None
    return answers, model.predict_proba(test), list(model.classes_)


TOOLS = {"mljar": mljar, "autogluon": autogluon, "flaml": flaml}


def main() -> None:
    import pandas as pd

    name, train, test, target, task, seconds, out = sys.argv[1:]
    begun = time.time()
    answers, probability, classes = TOOLS[name](pd.read_csv(train), pd.read_csv(test), target, task, float(seconds))
    told = {
        "seconds": time.time() - begun,
        "answers": [str(a) if task == "classification" else float(a) for a in answers],
        "probability": None if probability is None else [[float(p) for p in row] for row in probability],
        "classes": None if classes is None else [str(c) for c in classes],
    }
    with open(out, "w") as file:
        json.dump(told, file)


if __name__ == "__main__":
    main()
