"""Every conversion keeps scikit-learn's contract, equals itself under weights, and describes itself."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import tilth.models.prepare as prepare
from tilth import DecisionTreeClassifier
from tilth.data import infer
from tilth.errors import SchemaError, TilthWarning
from tilth.models.prepare import (
    Bins,
    DropColumns,
    Features,
    Impute,
    IntegerCodes,
    MinMax,
    OneHot,
    RankScores,
    SelectKinds,
    Standardise,
)
from tilth.models.prepare.base import InvertibleTransformer, StepTransformer

ALL = [getattr(prepare, name) for name in prepare.__all__]
STEPS = [c for c in ALL if issubclass(c, StepTransformer)]


def mixed(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "income": np.exp(rng.normal(3, 1, n)),
            "size": rng.choice(["small", "medium", "large"], n),
            "job": rng.choice(["cook", "nurse", "clerk", "smith"], n),
            "member": rng.random(n) < 0.5,
        }
    )
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n) < 0.2, "job"] = None
    return frame


def quiet(call: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilthWarning)
        return call(*args, **kwargs)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_scikit_learn_accepts_it(cls: Any) -> None:
    for options in cls.check_with:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TilthWarning)
            warnings.simplefilter("ignore", SkipTestWarning)
            check_estimator(cls(**options), expected_failed_checks=cls.excused)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_describes_itself(cls: Any) -> None:
    model = cls()
    assert model.traits.concept == "transformation"
    assert model.traits.supervision == "none"
    assert len(type(model).card.summary) > 10
    assert "training rows" in str(model.recipe())
    assert "Parameters" in (cls.__doc__ or "")


@pytest.mark.parametrize("cls", STEPS, ids=lambda c: c.__name__)
def test_fits_a_mixed_table_and_speaks(cls: Any) -> None:
    frame = mixed()
    model = quiet(cls().fit, frame)
    out = quiet(model.transform, frame)
    assert list(out.columns) == model.get_feature_names_out().tolist()
    assert len(set(out.columns)) == len(out.columns)
    assert out.index.equals(frame.index)
    assert model.explain_
    assert cls.__name__ in model.summary()
    assert str(model.plan_).startswith(f"Plan for {cls.__name__}")
    pd.testing.assert_frame_equal(quiet(pickle.loads(pickle.dumps(model)).transform, frame), out)


@pytest.mark.parametrize("cls", STEPS, ids=lambda c: c.__name__)
def test_weight_two_is_the_row_twice(cls: Any) -> None:
    frame = mixed(40)
    times = np.random.default_rng(1).integers(0, 4, len(frame))
    # A projection's size follows the number of rows given, so its size is fixed here.
    options = {"n_components": 2} if cls is prepare.RandomProjection else {}
    weighted = quiet(cls(**options).fit, frame, sample_weight=times)
    repeated = quiet(cls(**options).fit, frame.loc[np.repeat(frame.index, times)].reset_index(drop=True))
    pd.testing.assert_frame_equal(quiet(weighted.transform, frame), quiet(repeated.transform, frame), rtol=1e-9)


@pytest.mark.parametrize("options", [{"method": m} for m in ("width", "frequency", "kmeans")], ids=str)
def test_weights_are_repetition_for_every_way_to_bin(options: dict[str, str]) -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(3).gamma(2, 2, 50).round(1)})
    times = np.random.default_rng(4).integers(0, 3, len(frame))
    weighted = quiet(Bins(**options).fit, frame, sample_weight=times)
    repeated = quiet(Bins(**options).fit, frame.loc[np.repeat(frame.index, times)])
    assert weighted.fitted_step
    assert repeated.fitted_step
    np.testing.assert_allclose(
        weighted.fitted_step.states[0]["edges"], repeated.fitted_step.states[0]["edges"], rtol=1e-12
    )


@pytest.mark.parametrize("method", ["mean", "median", "mode"])
def test_weights_are_repetition_for_every_way_to_fill(method: str) -> None:
    frame = mixed(40, seed=5)
    times = np.random.default_rng(6).integers(0, 4, len(frame))
    weighted = Impute(method=method).fit(frame, sample_weight=times)
    repeated = Impute(method=method).fit(frame.loc[np.repeat(frame.index, times)])
    pd.testing.assert_frame_equal(weighted.bias(), repeated.bias())
    pd.testing.assert_frame_equal(quiet(weighted.transform, frame), quiet(repeated.transform, frame))


@pytest.mark.parametrize("cls", [c for c in STEPS if issubclass(c, InvertibleTransformer)], ids=lambda c: c.__name__)
def test_inverse_gives_the_rows_back(cls: Any) -> None:
    frame = mixed()
    model = quiet(cls().fit, frame)
    back = model.inverse_transform(model.transform(frame))
    schema = infer(frame)
    expected = read_typed(frame)
    for spec in schema.features:
        if spec.kind.name == "numeric":
            np.testing.assert_allclose(back[spec.name], expected[spec.name], rtol=1e-9)
        else:
            assert list(back[spec.name].astype(object).fillna("-")) == list(
                expected[spec.name].astype(object).fillna("-")
            )


def read_typed(frame: pd.DataFrame) -> pd.DataFrame:
    from tilth.data import read

    return read(frame).typed(infer(frame)).frame()


def test_the_next_model_infers_the_same_kinds() -> None:
    frame = mixed()
    before = {c.name: c.kind for c in infer(frame)}
    after = {c.name: c.kind for c in infer(Standardise().fit_transform(frame))}
    assert {n: k.name for n, k in before.items()} == {n: k.name for n, k in after.items()}
    assert after["size"] == before["size"]
    assert after["size"].levels == ("small", "medium", "large")


def test_columns_by_name_and_place_and_their_errors() -> None:
    frame = mixed()
    by_name = Standardise(columns="income").fit_transform(frame)
    by_place = Standardise(columns=[1]).fit_transform(frame)
    pd.testing.assert_frame_equal(by_name, by_place)
    np.testing.assert_array_equal(by_name["age"], frame["age"])
    with pytest.raises(SchemaError, match="did you mean 'income'"):
        Standardise(columns=["incme"]).fit(frame)
    with pytest.raises(SchemaError, match="no column number 9"):
        Standardise(columns=9).fit(frame)
    with pytest.raises(SchemaError, match=r"Standardise takes numeric columns; 'job' is nominal"):
        Standardise(columns="job").fit(frame)
    ids = frame.assign(id=range(len(frame)))
    with pytest.raises(SchemaError, match="was set aside"):
        Standardise(columns="id").fit(ids)


def test_a_failed_fit_leaves_the_object_as_it_was() -> None:
    model = Standardise().fit([[1.0], [3.0]])
    with pytest.raises(ValueError, match="infinity"):
        model.fit([[np.inf], [1.0]])
    assert model.transform([[3.0]])[0, 0] == 1.0


def test_set_output_and_pipelines() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    out = Standardise().set_output(transform="pandas").fit_transform(X)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == ["x0", "x1"]
    pipe = make_pipeline(Impute(method="mean"), OneHot(), Standardise())
    table = quiet(clone(pipe).fit_transform, mixed())
    assert not table.isna().to_numpy().any()
    assert all(kind.kind.name == "numeric" for kind in infer(table))


def test_polars_output_of_scikit_learn() -> None:
    pl = pytest.importorskip("polars")
    out = MinMax().set_output(transform="polars").fit_transform(np.array([[1.0, 2.0], [3.0, 6.0]]))
    assert isinstance(out, pl.DataFrame)
    assert out["x1"].to_list() == [0.0, 1.0]


def test_the_target_may_be_named() -> None:
    frame = mixed()
    model = Standardise().fit(frame, "income")
    assert "income" not in model.names_out_
    assert "income" not in model.transform(frame).columns


@pytest.mark.covers("X-23")
def test_keep_only_columns_of_the_right_kind() -> None:
    frame = mixed()
    assert list(SelectKinds(keep="numeric").fit_transform(frame)) == ["age", "income"]
    assert list(SelectKinds(keep=("ordinal", "nominal")).fit_transform(frame)) == ["size", "job", "member"]
    assert list(DropColumns(columns=["age", "job"]).fit_transform(frame)) == ["income", "size", "member"]
    with pytest.raises(ValueError, match="keep must name kinds"):
        SelectKinds(keep="text").fit(frame)
    with pytest.raises(ValueError, match="no column is left"):
        SelectKinds(keep="ordinal").fit(frame[["age"]])


def test_made_names_never_collide() -> None:
    table = {"x": ["a", "b", "c"], "x=a": [1.0, 2.0, 3.0]}
    out = OneHot().fit_transform(table)
    assert list(out.columns) == ["x=a'", "x=b", "x=c", "x=a"]
    assert out["x=a"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="'x' is a column already"):
        Features(formulas={"x": "x * 2"}).fit({"x": [1.0, 2.0]})


@pytest.mark.covers("D-21")
def test_named_feature_appears_in_reports() -> None:
    frame = pd.DataFrame({"cpu": [8.0, 9.0, 2.0], "net": [4.0, 3.0, 0.0], "host": ["a", "b", "a"]})
    model = Features(formulas={"cpu/net": "cpu / net"}).fit(frame)
    out = model.transform(frame)
    assert list(out.columns) == ["cpu", "net", "cpu/net", "host"]
    np.testing.assert_array_equal(out["cpu/net"], [2.0, 3.0, np.nan])
    assert "cpu/net" in model.explain_
    assert "cpu/net" in model.summary()
    by_function = Features(formulas={"sum": lambda t: t["cpu"] + t["net"]}, keep=False).fit_transform(frame)
    assert list(by_function.columns) == ["sum", "host"]
    rng = np.random.default_rng(0)
    hosts = pd.DataFrame({"cpu": rng.uniform(1, 9, 200), "net": rng.uniform(1, 9, 200)})
    busy = np.where(hosts["cpu"] / hosts["net"] > 1, "busy", "idle")
    rows = Features(formulas={"cpu/net": "cpu / net"}).fit_transform(hosts)
    tree = DecisionTreeClassifier(max_depth=1).fit(rows, busy)
    assert "cpu/net" in str(tree.rules())
    reasons = tree.explain(rows.head(1)).frame(0).set_index("column")["contribution"].drop("(total)")
    assert reasons.abs().idxmax() == "cpu/net"
    with pytest.raises(ValueError, match="one number per row"):
        Features(formulas={"bad": lambda t: [1.0, 2.0]}).fit(frame)
    with pytest.raises(SchemaError, match="needs numeric columns"):
        Features(formulas={"r": "a / b"}).fit({"a": ["u", "v"]})


def test_rank_scores_and_codes_refuse_what_they_do_not_take() -> None:
    with pytest.raises(SchemaError, match="RankScores takes ordinal columns"):
        RankScores(columns="job").fit(mixed())
    with pytest.raises(TypeError, match="Sparse"):
        IntegerCodes().fit(sparse.eye(3).tocsr())
