"""Fitted steps on typed tables: what is learned is plain, applies to new rows, and equals repetition under weights."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tilth.data import number_steps, steps
from tilth.data.kinds import nominal, numeric, ordinal
from tilth.data.steps import FittedStep, Step
from tilth.data.table import UNSEEN, Column, Table
from tilth.errors import SchemaError

STEPS: list[Step] = [
    cls()
    for module in (steps, number_steps)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Step) and cls.__module__ == module.__name__ and cls is not Step
]


def table(n: int = 30) -> Table:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    x[3] = np.nan
    return Table(
        [
            Column("x", numeric, x),
            Column("s", ordinal("low", "mid", "high"), rng.integers(-1, 3, n).astype(np.int32)),
            Column("c", nominal("a", "b", "c"), rng.integers(-1, 3, n).astype(np.int32)),
        ],
        n,
    )


def inputs(step: Step) -> list[str]:
    return [c.name for c in table() if c.kind.name in step.takes]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
def test_states_are_plain(step: Step) -> None:
    done, _ = FittedStep(step, inputs(step)).fit(table())
    for state in done.states:
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in state.items()}
        assert json.loads(json.dumps(plain)) == plain or any(v != v for v in plain.values() if isinstance(v, float))
        assert isinstance(step.tell(state), str)
    assert step.verb


# Smoothing looks at neighbouring rows by design.
ROW_BY_ROW = [s for s in STEPS if not isinstance(s, number_steps.Denoise)]


@pytest.mark.parametrize("step", ROW_BY_ROW, ids=lambda s: type(s).__name__)
def test_new_rows_are_converted_row_by_row(step: Step) -> None:
    done, whole = FittedStep(step, inputs(step)).fit(table())
    part = done.apply(table().rows(slice(10, 20)))
    assert part.names == whole.names
    for a, b in zip(part, whole, strict=True):
        np.testing.assert_allclose(a.values, b.values[10:20], rtol=1e-12)
        assert a.kind == b.kind


@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
def test_untouched_columns_keep_their_place_and_inputs_their_values(step: Step) -> None:
    before = table()
    copies = [c.values.copy() for c in before]
    _, after = FittedStep(step, inputs(step)).fit(before)
    for column, old in zip(before, copies, strict=True):
        np.testing.assert_array_equal(column.values, old)
    assert [n for n in after.names if n in before.names and n not in inputs(step)] == [
        n for n in before.names if n not in inputs(step)
    ]
    assert before.names == ["x", "s", "c"]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
def test_a_column_of_another_kind_is_refused(step: Step) -> None:
    wrong = [c.name for c in table() if c.kind.name not in step.takes]
    for name in wrong:
        with pytest.raises(SchemaError, match=f"{type(step).__name__} takes"):
            FittedStep(step, [name]).fit(table())


def test_a_constant_column_keeps_every_number_step_finite() -> None:
    rows = Table([Column("x", numeric, np.full(7, 0.1))], 7)
    for step in STEPS:
        if "numeric" in step.takes:
            _, out = FittedStep(step, ["x"]).fit(rows)
            for column in out:
                assert np.isfinite(column.values).all(), type(step).__name__


def test_unseen_levels_through_steps() -> None:
    codes = Column("c", nominal("a", "b", "c"), np.array([UNSEEN, -1, 1], dtype=np.int32))
    rows = Table([codes], 3)

    def run(step: Step) -> Any:
        done, _ = FittedStep(step, ["c"]).fit(table())
        return done.apply(rows)

    assert [c.values.tolist() for c in run(steps.OneHot())] == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_array_equal(run(steps.IntegerCodes())["c"].values, [np.nan, np.nan, 1])
    assert run(steps.OwnCategory())["c"].values.tolist() == [UNSEEN, 3, 1]
    with pytest.raises(SchemaError, match="did not have"):
        run(steps.OneHot(unseen="error"))


def test_settings_are_the_parameters() -> None:
    assert steps.Bins(n_bins=3).settings() == {"method": "frequency", "n_bins": 3, "names": None, "edges": None}
