"""Write the skeleton of a new estimator: a model file and a test file, then names, stub and pages.

``python scripts/new_estimator.py LocalOutlierFactor --kind detector --chapter anomaly``, or ``make estimator
NAME=LocalOutlierFactor KIND=detector CHAPTER=anomaly``. What is left to write raises NotImplementedError.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Scripts that write from the classes.
PAGES = ("public_names", "model_page", "coverage_rows")

MODEL = '''"""{name}: the idea in one sentence, with its source (author and year)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilth.base import {imports}
from tilth.params import declared, param

Floats = NDArray[np.float64]


@declared
class {name}({base}):
    """What it does in one sentence, with its formula.

    How it learns, and what to know before using it. Then an example that runs:

    >>> {name}().fit({rows}).{method}({new})
    """

    accepts: ClassVar[Accepts] = Accepts({accepts})
    card: ClassVar[Card] = Card(
        "What it does in one sentence.",
        Traits({traits}),
        (Assumption("What it takes for granted.", "What happens where that fails."),),
        Complexity("O(n p)", "O(p)", "O(p)"),
        ("Author year, title",),
    )
{contest}    learned: ClassVar[dict[str, str]] = {{{learned}}}

    alpha: float = param(1.0, low=0, doc="What a larger value does.", tune=(0.1, 10.0), scale="log")

    def recipe(self) -> Recipe:
        """What is optimised, and how."""
        return Recipe(
            "{data}",
            "what the model is",
            "what it minimises",
            f"how, with {{self.alpha:g}} [alpha]",
        )

{answers}'''

ANSWER = '''    def {hook}(self, {arguments}) -> {returns}:
        """{says}"""
        raise NotImplementedError
'''

TEST = '''"""{name}: worked numbers, laws, parity with a peer. Common checks are in tests/test_estimators.py."""

import pytest

from tilth import {name}


def test_worked_example():
    model = {name}()
    pytest.fail(f"write down numbers that were worked out by hand or by a peer, and compare {{model}} with them")
'''


@dataclass(frozen=True)
class Hook:
    """A method that the author writes."""

    name: str
    says: str
    returns: str = "Floats"
    arguments: str = "table: Any"


@dataclass(frozen=True)
class Kind:
    """What a skeleton of one kind of model holds."""

    base: str
    traits: str
    method: str
    hooks: tuple[Hook, ...]
    learned: str = '"weights_": "float[p]"'
    rows: str = "[[0.0], [1.0], [3.0]]"
    new: str = "[[2.0]]"
    contest: bool = False
    learn: Hook = Hook(
        "learn", "Set the fitted attributes from typed rows.", "None", "table: Any, target: Any, weight: Floats | None"
    )
    accepts: str = "numeric=True"
    data: str = "rows of numbers; other kinds are converted"


def _without_target(concept: str) -> str:
    return f'"{concept}", supervision="unsupervised"'


KINDS = {
    "classifier": Kind(
        "Probabilistic", '"classification", probabilistic=True', "predict",
        (Hook("probabilities", "p(y | x) of each row for every class, in the order of ``classes_``."),),
        rows='[[0.0], [1.0], [3.0]], ["a", "a", "b"]', contest=True,
    ),
    "regressor": Kind(
        "Regressor", '"regression"', "predict", (Hook("values", "The predicted number of each row."),),
        rows="[[0.0], [1.0], [3.0]], [0.0, 2.0, 6.0]", contest=True,
    ),
    "transformer": Kind(
        "Transformer", _without_target("transformation"), "transform",
        (Hook("convert", "The new columns, one for each of ``names_out_``, which learn sets."),),
        '**Transformer.learned, "weights_": "float[p]"',
    ),
    "clusterer": Kind(
        "Clusterer", _without_target("clustering"), "predict",
        (Hook("assign", "The cluster of each row, counted from 0.", "NDArray[np.int32]"),),
    ),
    "detector": Kind(
        "Detector", _without_target("anomaly"), "predict",
        (Hook("strangeness", "How unlike the training rows each row is: high for anomalies."),),
        '**Detector.learned, "weights_": "float[p]"',
    ),
    "density": Kind(
        "Density", _without_target("density") + ", generative=True, probabilistic=True", "score_samples",
        (
            Hook("log_density", "log p(x) of each row."),
            Hook("sample", "Draw rows.", "Any", "n: int = 1, *, seed: int = 0"),
        ),
        '"weights_": "float[p]", "n_parameters_": "int[]"',
    ),
    "sequence": Kind(
        "SequenceModel", '"sequence"', "predict",
        (Hook("paths", "Place of the label of every step, one sequence after the other.", "NDArray[np.int64]",
              "sequences: Any"),),
        rows='[["a", "b"], ["b"]], [["x", "y"], ["y"]]', new='[["a"]]', accepts="numeric=False, nominal=True",
        learn=Hook("learn", "Set the fitted attributes from sequences of typed steps; a target for each step.", "None",
                   "table: Any, target: Any, weight: Floats | None"),
        data="sequences of steps",
    ),
    "recommender": Kind(
        "Recommender", '"recommendation"', "predict",
        (Hook("affinity", "Score of each pair: higher for what is liked more.", "Floats", "users: Any, items: Any"),),
        '**Recommender.learned, "weights_": "float[p]"',
        rows='{"user": ["ann"], "item": ["tea"]}', new='{"user": ["ann"], "item": ["tea"]}',
        accepts="numeric=False, nominal=True, missing=True",
        learn=Hook("learn_pairs", "Set the fitted attributes from pairs, given as places of users and items.", "None",
                   "users: Any, items: Any, ratings: Any, weight: Any"),
        data="pairs of users and items",
    ),
}  # fmt: skip


def file_name(name: str) -> str:
    """The name of a class as the name of its file.

    >>> file_name("LocalOutlierFactor"), file_name("HBOS"), file_name("CARTRegressor")
    ('local_outlier_factor', 'hbos', 'cart_regressor')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def model_text(name: str, kind: Kind) -> str:
    """The model file."""
    imports = sorted({"Accepts", "Assumption", "Card", "Complexity", "Recipe", "Traits", kind.base})
    contest = '    contest = "not measured beside the candidates yet"\n' if kind.contest else ""
    answers = "\n".join(
        ANSWER.format(hook=h.name, arguments=h.arguments, returns=h.returns, says=h.says)
        for h in (kind.learn, *kind.hooks)
    )
    return MODEL.format(
        name=name, base=kind.base, imports=", ".join(imports), traits=kind.traits, learned=kind.learned, rows=kind.rows,
        method=kind.method, new=kind.new, contest=contest, answers=answers, accepts=kind.accepts, data=kind.data,
    )  # fmt: skip


def write(root: Path, name: str, kind: str, chapter: str) -> list[Path]:
    """Write model and test file; nothing is written where a name is not legal or a file is there already."""
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise SystemExit(f"new_estimator: {name!r} is no class name such as LocalOutlierFactor.")
    if not re.fullmatch(r"[a-z][a-z_]*", chapter):
        raise SystemExit(f"new_estimator: {chapter!r} is no chapter name such as anomaly.")
    home, tests = root / "src" / "tilth" / "models" / chapter, root / "tests" / "models" / chapter
    texts = {
        home / f"{file_name(name)}.py": model_text(name, KINDS[kind]),
        tests / f"test_{file_name(name)}.py": TEST.format(name=name),
    }
    for path in texts:
        if path.exists():
            raise SystemExit(f"new_estimator: {path.relative_to(root)} is there already; choose another name.")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not (home / "__init__.py").exists():
        (home / "__init__.py").write_text(f'"""{chapter.capitalize()}: the question that this chapter answers."""\n')
    return list(texts)


def main(arguments: Any = None) -> int:
    """Write the skeleton, then all that is written from the classes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("name", help="class name, such as LocalOutlierFactor")
    parser.add_argument("--kind", required=True, choices=sorted(KINDS))
    parser.add_argument("--chapter", required=True, help="chapter of models, such as anomaly; a new one is made")
    options = parser.parse_args(arguments)
    written = write(ROOT, options.name, options.kind, options.chapter)
    for page in PAGES:
        subprocess.run([sys.executable, str(ROOT / "scripts" / f"{page}.py")], check=True)
    for path in written:
        print(f"wrote {path.relative_to(ROOT)}")
    print("Write what raises NotImplementedError; CONTRIBUTING.md has worked examples.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
