"""``train.py``: the model of a run as plain Python, without the workbench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilth._names import OTHERS
from tilth._registry import ESTIMATORS
from tilth.base import Estimator
from tilth.lifecycle.run.record import Run

WIDTH = 100


def call_text(value: Any, indent: int = 0) -> str:
    """A value as the Python that makes it; of an estimator only parameters that differ from their defaults.

    >>> from tilth import Ridge
    >>> print(call_text(Ridge(alpha=0.5)))
    Ridge(alpha=0.5)
    """
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Estimator, list, tuple)) for v in value):
        return _series(value, indent)
    if not isinstance(value, Estimator):
        return repr(value)
    usual = type(value)().get_params(deep=False)
    settings = {n: v for n, v in value.get_params(deep=False).items() if n not in usual or repr(v) != repr(usual[n])}
    name = type(value).__name__
    line = f"{name}({', '.join(f'{n}={call_text(v)}' for n, v in settings.items())})"
    if len(line) + indent <= WIDTH:
        return line
    pad = " " * (indent + 4)
    rows = [f"{pad}{n}={_laid_out(v, indent + 4)}," for n, v in settings.items()]
    return "\n".join([f"{name}(", *rows, f"{' ' * indent})"])


def _series(value: list[Any] | tuple[Any, ...], indent: int) -> str:
    """A list or tuple with models in it."""
    start, end = ("[", "]") if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
    line = f"{start}{', '.join(call_text(v) for v in value)}{end}"
    if len(line) + indent <= WIDTH and "\n" not in line:
        return line
    pad = " " * (indent + 4)
    return "\n".join([start, *(f"{pad}{call_text(v, indent + 4)}," for v in value), f"{' ' * indent}{end[-1]}"])


def _laid_out(value: Any, indent: int) -> str:
    if isinstance(value, Mapping) and len(repr(value)) + indent > WIDTH:
        pad = " " * (indent + 4)
        return "\n".join(["{", *(f"{pad}{k!r}: {v!r}," for k, v in value.items()), " " * indent + "}"])
    return call_text(value, indent)


def names_in(value: Any) -> Iterator[str]:
    """Public names that the text of a value needs."""
    name = type(value).__name__
    if name in ESTIMATORS or name in OTHERS:
        yield name
    inside: Any = ()
    if isinstance(value, Estimator):
        inside = value.get_params(deep=False).values()
    elif isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    for part in inside:
        yield from names_in(part)


_TEMPLATE = '''"""Rebuild the model of a run on {source} without the workbench; written by tilth {version}.

    python train.py [TABLE] [MODEL]
"""

import hashlib
import sys
from pathlib import Path

{imports}

TABLE = {table!r}
TARGET = {target!r}
#: Of the model file that the run would have written without its card.
EXPECTED = {digest!r}


def main() -> None:
    given = sys.argv[1:]
    table = given[0] if given else TABLE
    if table is None:
        sys.exit("The run read no file: python train.py TABLE [MODEL]")
    path = Path(given[1] if len(given) > 1 else "model-rebuilt.tilth")
    rows = {reading}
{steps}
    model = {model}
    model.fit(rows, TARGET)
    save(model, path)
    same = hashlib.sha256(path.read_bytes()).hexdigest() == EXPECTED
    print(f"wrote {{path}}: " + ("the model of the run, byte for byte" if same else "not the bytes of the run"))


if __name__ == "__main__":
    main()
'''


def train_script(run: Run, model: Any, digest: str) -> str:
    """The script; ``model`` is the unfitted model, ``digest`` the hash of its file."""
    import tilth

    bundled = run.question.card is not None
    names = sorted({*names_in(model), "save", "load_dataset" if bundled else "read_table"})
    path = run.question.path
    table = run.name if bundled else None if path is None else str(path)
    steps = [f"    {line}" for line in _steps(run)]
    return _TEMPLATE.format(
        source=run.name.replace('"""', "'''").replace("\\", "/"), version=tilth.__version__,
        imports=f"from tilth import {', '.join(names)}", table=table, target=run.target, digest=digest,
        reading="load_dataset(table).frame" if bundled else _reading(run.question.part), steps="\n".join(steps),
        model=call_text(model, 4),
    )  # fmt: skip


def _reading(part: int | None) -> str:
    return "read_table(table)" if part is None else f"read_table(table, part={part})  # as much as the run has read"


def _steps(run: Run) -> Iterator[str]:
    """What was done to the rows before the fit."""
    yield "rows = rows[rows[TARGET].notna()]  # rows without an answer teach nothing"
    for name in run.question.dated:
        yield f"rows[{name!r}] = rows[{name!r}].astype('datetime64[s]')"
    for remedy in run.remedies:
        if remedy.code == "Q401":
            yield "rows = rows.drop_duplicates()  # copies would be learned from and tested on at once"
        elif remedy.code == "Q111":
            (name,) = remedy.columns
            words = sorted(_words(run, name))
            yield f"rows[{name!r}] = rows[{name!r}].mask(rows[{name!r}].isin({words!r}))  # missing values in disguise"


def _words(run: Run, name: str) -> set[str]:
    findings = run.profile.findings if run.profile is not None else ()
    return {w for f in findings if f.code == "Q111" and f.columns == (name,) for w in f.evidence.get("tokens", {})}
