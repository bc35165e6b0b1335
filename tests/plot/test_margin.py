"""The plane of linear classifiers, their margins and the rows that support them."""

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, svm

import tilth
from tilth.plot import margin

rng = np.random.default_rng(0)
APART = pd.DataFrame(np.vstack([rng.normal(0, 0.6, (30, 2)), rng.normal(3, 0.6, (30, 2))]), columns=["wide", "tall"])
MIXED = pd.DataFrame(np.vstack([rng.normal(0, 1, (30, 2)), rng.normal(1.5, 1, (30, 2))]), columns=["wide", "tall"])
del rng  # tests draw from generators of their own
LABELS = np.repeat(["no", "yes"], 30)
MODELS = {
    "LinearSVC": tilth.LinearSVC(), "hinge": tilth.LinearSVC(loss="hinge"), "Perceptron": tilth.Perceptron(),
    "LogisticRegression": tilth.LogisticRegression(), "peer": linear_model.LogisticRegression(),
    "peer svm": svm.SVC(kernel="linear"),
}  # fmt: skip


@pytest.mark.covers("PL-05")
@pytest.mark.parametrize("name", MODELS)
def test_the_lines_drawn_are_where_the_score_says(name, tmp_path):
    model = MODELS[name].fit(APART, LABELS)
    found = margin(model, APART, LABELS)
    table = found.frame()
    ends = table[["wide", "tall"]]
    expected = {"border": 0.0, "margin of no": -found.at, "margin of yes": found.at}
    assert np.allclose(model.decision_function(ends), table["line"].map(expected))
    figure = found.figure
    figure.savefig(tmp_path / "margin.svg")
    lines = [line.get_xydata() for line in figure.axes[0].lines if line.get_linestyle() in ("-", "--")]
    assert np.allclose(np.concatenate(lines), ends)


@pytest.mark.covers("PL-05", "FX-13")
def test_support_rows_are_those_of_the_support_vector_machine():
    model = svm.SVC(kernel="linear", C=1.0).fit(MIXED, LABELS)
    found = margin(model, MIXED, LABELS)
    beyond = found.row_frame().loc[~found.support, "score"]
    assert (
        set(np.flatnonzero(found.scores < 1 - 1e-2))
        <= set(model.support_)
        <= set(np.flatnonzero(found.scores < 1 + 1e-2))
    )
    assert (beyond > 1).all()
    assert found.width == pytest.approx(1 / np.linalg.norm(model.coef_))


@pytest.mark.covers("PL-05")
def test_the_hard_margin_touches_both_sides():
    model = tilth.LinearSVC(C=float("inf")).fit(APART, LABELS)
    found = margin(model, APART, LABELS)
    assert found.width == pytest.approx(model.geometric_margin(APART, LABELS), rel=1e-5)
    assert set(LABELS[found.support]) == {"no", "yes"}


def test_a_perceptron_that_separates_has_a_margin_and_one_that_does_not_has_none(tmp_path):
    apart = margin(tilth.Perceptron().fit(APART, LABELS), APART, LABELS)
    assert apart.at == pytest.approx(apart.scores.min())
    assert apart.row_frame()["distance"].min() == pytest.approx(apart.width)
    model = tilth.LogisticRegression().fit(MIXED, LABELS)
    mixed = margin(model, MIXED, LABELS)
    assert np.isnan(mixed.at)
    assert mixed.frame()["line"].unique().tolist() == ["border"]
    assert not mixed.support.any()
    mixed.figure.savefig(tmp_path / "mixed.png", dpi=30)
    assert margin(model, MIXED, LABELS, at=0.5).support.any()


@pytest.mark.parametrize("w", [(1.0, 0.0), (0.0, -2.0), (1e-9, 1.0)])
def test_level_and_upright_planes(w, tmp_path):
    class Plane:
        coef_ = np.array([w])
        intercept_ = np.array([-1.0])
        classes_ = np.array(["no", "yes"])
        loss = "hinge"

    found = margin(Plane(), APART, LABELS)
    assert len(found.frame())
    found.figure.savefig(tmp_path / "plane.png", dpi=30)


def test_what_cannot_be_drawn_is_said():
    model = tilth.LinearSVC().fit(APART, LABELS)
    with pytest.raises(ValueError, match="two columns and two classes"):
        margin(tilth.GaussianNB().fit(APART, LABELS), APART, LABELS)
    with pytest.raises(ValueError, match="two columns"):
        margin(model, APART.assign(more=1.0), LABELS)
    with pytest.raises(ValueError, match="60 rows"):
        margin(model, APART, LABELS[:3])
    with pytest.raises(ValueError, match="among"):
        margin(model, APART, np.repeat(["no", "maybe"], 30))
    with pytest.raises(ValueError, match="above 0"):
        margin(model, APART, LABELS, at=0.0)
