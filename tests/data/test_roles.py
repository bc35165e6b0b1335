"""Roles: what a column is for. Only features are learned from; groups, weights and targets are found by role."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB as SkGaussianNB

from tilth import GaussianNB, LogisticRegression, NaiveBayes, chunks, compare, evaluate, infer, load, save, search
from tilth.base.training import Training
from tilth.data.schema import NOT_LEARNED
from tilth.errors import SchemaError


def visits(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(size=n),
            "patient": np.arange(n) // 3,
            "w": 1.0 + np.arange(n) % 3,
            "y": np.where(x + 0.3 * rng.normal(size=n) > 0, "ill", "well"),
        }
    )


@pytest.mark.parametrize("role", NOT_LEARNED)
@pytest.mark.parametrize("column", ["number", "text", "date"])
def test_a_column_with_a_role_is_shown_and_never_learned_from(role: str, column: str) -> None:
    n = 30
    values = {
        "number": np.arange(n) % 7,
        "text": [f"t{i % 4}" for i in range(n)],
        "date": pd.date_range("2024-01-01", periods=n),
    }[column]
    table = pd.DataFrame({"x": np.linspace(0, 1, n), "c": values})
    schema = infer(table, {"c": role})
    assert schema["c"].role == role
    assert [s.name for s in schema.features] == ["x"]
    assert schema.frame().set_index("column").loc["c", "role"] == role
    assert f"c  {role}" in str(schema).replace("c    ", "c  ")
    assert schema.stated_kinds()["c"] == role
    if role in ("target", "weight"):
        return
    model = GaussianNB(kinds={"c": role}).fit(table, np.arange(n) % 2)
    shown = next(line for line in str(model.plan_).splitlines() if line.split()[0] == "c")
    assert ("set aside" if role == "aside" else role) in shown
    np.testing.assert_array_equal(
        model.predict_proba(table[["x"]]), GaussianNB().fit(table[["x"]], np.arange(n) % 2).predict_proba(table[["x"]])
    )


def test_weights_and_target_are_found_by_role(tmp_path) -> None:
    table = visits()
    kinds = {"w": "weight", "y": "target", "patient": "group"}
    model = LogisticRegression(kinds=kinds).fit(table)
    plain = LogisticRegression().fit(table[["x", "z"]], table["y"], sample_weight=table["w"])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert not np.allclose(model.coef_, LogisticRegression().fit(table[["x", "z"]], table["y"]).coef_)
    again = load(save(model, tmp_path / "m.tilth"))
    np.testing.assert_array_equal(again.predict_proba(table[["x", "z"]]), plain.predict_proba(table[["x", "z"]]))
    # What is given beats what is named.
    given = LogisticRegression(kinds=kinds).fit(table, sample_weight=np.ones(len(table)))
    np.testing.assert_array_equal(given.coef_, LogisticRegression().fit(table[["x", "z"]], table["y"]).coef_)


def test_chunks_find_weights_and_target_by_role() -> None:
    table = visits()
    kinds = {"w": "weight", "y": "target", "patient": "aside"}
    parts = NaiveBayes(kinds=kinds).fit_chunks(chunks(table, rows=30))
    whole = NaiveBayes(kinds=kinds).fit(table)
    np.testing.assert_allclose(parts.predict_proba(table), whole.predict_proba(table), rtol=1e-12)
    assert not np.allclose(
        parts.predict_proba(table),
        NaiveBayes(kinds={"patient": "aside", "w": "aside"}).fit(table, "y").predict_proba(table),
    )


def test_folds_keep_groups_together_by_role() -> None:
    table = visits()
    kinds = {"patient": "group", "w": "weight"}
    by_role = evaluate(NaiveBayes(), table, "y", kinds=kinds, folds=3)
    rest = table[["x", "z", "y"]]
    by_name = evaluate(NaiveBayes(), rest, "y", groups=table["patient"], sample_weight=table["w"], folds=3)
    for a, b in zip(by_role.resampling.splits, by_name.resampling.splits, strict=True):
        np.testing.assert_array_equal(a.test, b.test)
        assert not set(table["patient"].iloc[a.train]) & set(table["patient"].iloc[a.test])
    pd.testing.assert_frame_equal(by_role.frame(), by_name.frame())


def test_compare_and_search_take_roles() -> None:
    table = visits()
    kinds = {"patient": "group"}
    theirs = SkGaussianNB()
    compared = compare([NaiveBayes(), theirs], table, "y", kinds=kinds, folds=3)
    problem = compared.resampling.problem
    assert list(problem.rows(np.arange(5), theirs).columns) == ["x", "z", "w"]  # it knows no roles
    assert problem.groups.tolist() == table["patient"].tolist()
    result = search(NaiveBayes(), table, "y", kinds=kinds, trials=2)
    assert result.best_model.schema_["patient"].role == "group"
    assert result.task.problem.groups.tolist() == table["patient"].tolist()


def test_training_gives_cells_by_role() -> None:
    table = visits(6)
    table["w"] = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    training = Training.read(table, "y", None, "X", kinds={"patient": "group", "w": "weight"})
    assert training.role("group", "X").tolist() == [0, 0, 1, 1, 1]
    assert training.role("user", "X") is None
    assert training.weight.tolist() == [1.0] * 5


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"x": "weight", "w": "weight"}, "gives the role 'weight' to 2 columns"),
        ({"name": "weight"}, "role 'weight', which needs numbers; it holds text"),
        ({"patiennt": "group"}, "did you mean 'patient'"),
        ({"patient": "grup"}, r"or a role \(target, user, item"),
    ],
    ids=str,
)
def test_roles_that_cannot_be(kinds: dict[str, str], message: str) -> None:
    table = visits().assign(name="a")
    with pytest.raises(SchemaError, match=message):
        NaiveBayes(kinds=kinds).fit(table, "y")
