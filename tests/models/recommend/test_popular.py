"""Popular items: biases are the minimum of their cost; real ratings are predicted better than by the mean."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tilth import PopularItems
from tilth.engines.recommend.biases import fit_biases

FOLDER = Path(os.environ.get("TILTH_DATA", Path(__file__).parents[4] / "shared" / "data"))
MOVIES = FOLDER / "ratings" / "movielens_100k_ratings.csv.gz"


def ratings(n: int = 80, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pairs = pd.DataFrame({"user": rng.integers(0, 9, n), "item": rng.choice(["a", "b", "c", "d", "e"], n)})
    return pairs, rng.normal(3, 1, n) + 0.1 * pairs["user"].to_numpy(), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("shrinkage", [0.5, 10.0])
def test_biases_solve_the_ridge_equations(shrinkage):
    pairs, y, weight = ratings()
    model = PopularItems(shrinkage=shrinkage).fit(pairs, y, sample_weight=weight)
    users, items = np.unique(pairs["user"]), np.unique(pairs["item"])
    design = np.column_stack([pairs["user"].to_numpy()[:, None] == users, pairs["item"].to_numpy()[:, None] == items])
    mean = np.average(y, weights=weight)
    left = design.T @ (weight[:, None] * design) + shrinkage * np.eye(design.shape[1])
    exact = np.linalg.solve(left, design.T @ (weight * (y - mean)))
    assert model.mean_ == pytest.approx(mean)
    np.testing.assert_allclose(np.concatenate([model.user_bias_, model.item_bias_]), exact, atol=1e-8)
    np.testing.assert_allclose(model.predict(pairs), mean + design @ exact, atol=1e-8)


def test_without_shrinkage_the_answers_are_those_of_least_squares():
    pairs, y, _ = ratings()
    design = pd.get_dummies(pairs.astype({"user": str}), columns=["user", "item"]).to_numpy(float)
    fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(PopularItems(shrinkage=0).fit(pairs, y).predict(pairs), fit, atol=1e-6)


def test_shrinkage_keeps_one_enthusiast_from_leading():
    pairs = {"user": list("abcdefabcdefa"), "item": ["hit"] * 6 + ["bad"] * 6 + ["odd"]}
    y = [5, 5, 5, 5, 5, 4, 1, 1, 1, 1, 1, 1, 5]
    assert PopularItems(shrinkage=0.01).fit(pairs, y).popular()["item"].tolist()[0] == "odd"
    assert PopularItems(shrinkage=5).fit(pairs, y).popular()["item"].tolist()[0] == "hit"


def test_pairs_alone_are_counted():
    pairs = {"user": ["a", "a", "b", "c"], "item": ["x", "y", "x", "x"]}
    model = PopularItems().fit(pairs)
    np.testing.assert_allclose(model.item_bias_, [0.75, 0.25])
    assert model.recommend("b")["item"].tolist() == ["y"]
    assert model.recommend("b", exclude_seen=False)["item"].tolist() == ["x", "y"]
    assert model.recommend("a").empty
    assert model.popular()["users"].tolist() == [3, 1]


def test_slow_biases_are_told():
    users, items = np.array([0, 0, 1]), np.array([0, 1, 1])
    stopped = fit_biases(users, items, np.array([1.0, 2.0, 5.0]), None, (2, 2), 0.0, max_iter=1)
    assert not stopped.converged
    assert fit_biases(users, items, np.array([2.0, 2.0, 2.0]), None, (2, 2), 0.0).converged


@pytest.mark.skipif(not MOVIES.exists(), reason="the ratings are not here")
def test_movies_are_rated_better_than_by_the_mean():
    frame = pd.read_csv(MOVIES)
    names = {"user_id": "user", "item_id": "item"}
    frame = frame.rename(columns=names)
    test = np.random.default_rng(0).random(len(frame)) < 0.1
    model = PopularItems().fit(frame.loc[~test, ["user", "item"]], frame.loc[~test, "rating"])
    with pytest.warns(UserWarning, match="'item'"):
        wrong = model.predict(frame.loc[test, ["user", "item"]]) - frame.loc[test, "rating"]
    assert np.sqrt((wrong**2).mean()) < 0.96  # the mean alone is wrong by 1.12
