"""The kernels of growing: bins, bags, and what they refuse; test_grow_parity compares the trees themselves."""

import numpy as np
import pytest

from tests.core.inputs import codes as random_codes
from tests.core.inputs import labels, real
from tilth import _core

SETTINGS = {
    "criterion": 0, "missing": 0, "gain_ratio": False, "threshold_penalty": False, "random_split": False,
    "multiway": False, "best_first": False, "reuse": True, "max_depth": 6, "max_leaves": 0, "exact_rows": 0,
    "max_features": 0, "min_rows_split": 2, "min_rows_leaf": 1, "min_weight_leaf": 0.0, "min_gain": 0.0,
    "min_decrease": 0.0, "units": 1.0, "max_purity": 1.0, "l2": 0.0, "l1": 0.0, "level_smoothing": 0.0,
    "min_level_rows": 0.0, "level_l2": 0.0, "max_levels": 0, "monotone": [], "interactions": [],
}  # fmt: skip


def table(n=400, missing=0.1, max_bins=20):
    """Numbers and codes with what the kernels need to know of them."""
    X = np.round(real((n, 3), missing=missing), 1)
    codes, offsets = random_codes(n, [4, 6])
    sizes = np.diff(offsets)
    edges = _core.bin_edges(X, None, None, max_bins)
    first = np.cumsum([0, *map(len, edges)])
    flat = np.concatenate(edges)
    bins = _core.bin_cells(X, codes, flat, first, sizes)
    return {
        "bins": bins, "sizes": np.array([*(len(e) + 1 for e in edges), *sizes]),
        "nominal": np.array([0, 0, 0, 1, 0], dtype=np.int32), "edges": flat, "first": first, "numbers": X,
        "codes": codes,
        "y": np.maximum(labels(n, 3), 0), "n_classes": 3, "targets": None, "weight": None, "newton": False,
        "settings": SETTINGS,
        "seeds": np.arange(2), "bag": None, "rows": None, "want_leaves": False, "memory": None,
        "staged": None, "one_each": False, "scores": None, "rate": 1.0,
    }  # fmt: skip


def test_bins_are_places_among_the_edges():
    given = table()
    X, bins = given["numbers"], given["bins"]
    for j in range(3):
        edges = given["edges"][given["first"][j] : given["first"][j + 1]]
        wanted = np.where(np.isnan(X[:, j]), len(edges) + 1, np.searchsorted(edges, X[:, j], side="left"))
        np.testing.assert_array_equal(bins[:, j], wanted)
    gone = given["codes"] < 0
    np.testing.assert_array_equal(bins[:, 3:], np.where(gone, given["sizes"][3:], given["codes"]))


def test_few_values_have_a_bin_each_and_many_share_equally():
    few = np.array([[3.0], [1.0], [2.0], [2.0], [np.nan]])
    np.testing.assert_array_equal(_core.bin_edges(few, None, None, 10)[0], [1.5, 2.5])
    many = np.arange(10_000.0)[:, None]
    edges = _core.bin_edges(many, None, None, 100)[0]
    counts = np.bincount(np.searchsorted(edges, many[:, 0], side="left"))
    assert len(counts) <= 100
    assert counts.max() <= 110


def test_a_heavy_value_has_a_bin_of_its_own_and_weights_are_repetitions():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(5000), rng.normal(size=5000)])
    edges = _core.bin_edges(values[:, None], None, None, 50)[0]
    around = edges[np.searchsorted(edges, 0.0) - 1], edges[np.searchsorted(edges, 0.0)]
    assert ((values > around[0]) & (values <= around[1]) & (values != 0)).sum() == 0
    x, w = rng.normal(size=(600, 1)), rng.integers(1, 4, 600)
    np.testing.assert_array_equal(
        _core.bin_edges(x, w.astype(float), None, 30)[0], _core.bin_edges(np.repeat(x, w, axis=0), None, None, 30)[0]
    )


def test_float32_and_strides_give_the_same_bins():
    given = table(missing=0)
    X = np.asfortranarray(given["numbers"].astype(np.float32).astype(np.float64))
    edges = np.concatenate(_core.bin_edges(X, None, None, 20))
    again = np.concatenate(_core.bin_edges(X.astype(np.float32)[::1], None, None, 20))
    np.testing.assert_array_equal(edges, again)


def test_a_bag_is_drawn_from_its_seed():
    first = _core.bag_counts(5, 1000, 1000, True)
    np.testing.assert_array_equal(first, _core.bag_counts(5, 1000, 1000, True))
    assert first.sum() == 1000
    assert abs((first == 0).mean() - np.exp(-1)) < 0.05
    without = _core.bag_counts(6, 1000, 300, False)
    assert without.sum() == 300
    assert without.max() == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bins": np.zeros((400, 4), dtype=np.uint8)}, "sizes with one entry per column"),
        ({"bins": np.zeros((400, 5))}, "bins as uint8 or uint16"),
        ({"bins": np.zeros((5, 400), dtype=np.uint8).T}, "C order"),
        ({"bins": np.full((400, 5), 999, dtype=np.uint16)}, "bins up to"),
        ({"sizes": np.array([300, 2, 2, 4, 6])}, "agree with the edges"),
        ({"y": np.full(400, 3, dtype=np.int32)}, "class codes from 0 to 2"),
        ({"y": np.full(400, -1, dtype=np.int32)}, "a class for every row"),
        ({"y": None}, "needs y"),
        ({"weight": np.full(400, np.nan)}, "finite non-negative weights"),
        ({"weight": np.full(400, -1.0)}, "finite non-negative weights"),
        ({"weight": np.ones(3)}, "weight with one entry per row"),
        ({"seeds": np.empty(0, dtype=np.int64)}, "at least one seed"),
        ({"bag": (0, True)}, "bag of at least one row"),
        ({"rows": np.array([3, 2], dtype=np.int32)}, "ascending"),
        ({"rows": np.array([400], dtype=np.int32)}, "ascending order from 0 to 399"),
        ({"want_leaves": True}, "single tree"),
        ({"memory": np.zeros(10)}, "array of bytes"),
        ({"scores": np.zeros(400)}, "single tree of all rows"),
        ({"settings": SETTINGS | {"criterion": 3}, "staged": np.zeros(400, np.int64)}, "Newton trees over bins"),
        ({"settings": SETTINGS | {"criterion": 3}, "newton": True, "staged": np.zeros(3, np.int64)}, "staged with one"),
        ({"settings": SETTINGS | {"criterion": 3}, "newton": True, "staged": np.zeros(400)}, "writable int64"),
        ({"settings": SETTINGS | {"criterion": 9}}, "criterion"),
        ({"settings": SETTINGS | {"missing": 9}}, "missing"),
        ({"settings": SETTINGS | {"monotone": [1]}}, "monotone with one entry per column"),
        ({"settings": SETTINGS | {"interactions": [[7]]}}, "columns that exist"),
        ({"settings": SETTINGS | {"exact_rows": 10}, "numbers": np.zeros((400, 2))}, "rows and columns of the bins"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _core.grow_trees(*(table() | change).values())


@pytest.mark.parametrize("n", [500, 20_000])  # wide cells, packed cells
def test_gradients_that_are_not_finite_are_refused(n):
    given = table(n) | {"y": None, "n_classes": 0, "newton": True, "settings": SETTINGS | {"criterion": 3}}
    given["targets"] = np.full((n, 1), np.nan)
    with pytest.raises(ValueError, match="NaN or infinity"):
        _core.grow_trees(*given.values())


def test_trees_have_the_same_bits_on_any_number_of_threads():
    given = table(30_000)
    found = []
    try:
        for threads in (1, 2):
            _core.set_threads(threads)
            for change in (
                {},
                {"seeds": np.array([4])},
                {"seeds": np.array([4]), "settings": SETTINGS | {"max_depth": 0, "exact_rows": 500}},
                {"seeds": np.array([4]), "settings": SETTINGS | {"max_leaves": 40}},
                {"bag": (30_000, True), "settings": SETTINGS | {"max_features": 2, "random_split": True}},
            ):
                arrays, _ = _core.grow_trees(*(given | change).values())
                found.append(b"".join(a.tobytes() for a in arrays.values()))
    finally:
        _core.set_threads(0)
    assert found[:5] == found[5:]


def staged_reference(gradient, hessian):
    """Two floats in one word, the gradient in the upper half."""
    bits = np.stack([np.float32(hessian).view(np.uint32), np.float32(gradient).view(np.uint32)], axis=1)
    return np.ascontiguousarray(bits).view(np.int64)[:, 0]


def newton(n, leaves=12):
    rng = np.random.default_rng(n)
    settings = SETTINGS | {"criterion": 3, "max_depth": 0, "max_leaves": leaves, "min_gain": 1e-9}
    given = table(n) | {"y": None, "n_classes": 0, "newton": True, "settings": settings, "seeds": np.array([3])}
    return given, rng.normal(size=n), rng.uniform(0.1, 1.0, n)


def test_gradients_are_staged_as_two_floats():
    rng = np.random.default_rng(0)
    gradient, hessian = rng.normal(size=(2, 100_001))
    out = np.empty(100_001, dtype=np.int64)
    _core.stage_gradients(gradient, hessian, out)
    np.testing.assert_array_equal(out, staged_reference(gradient, hessian))
    _core.stage_gradients(gradient, None, out)
    np.testing.assert_array_equal(out, staged_reference(gradient, np.ones(100_001)))
    with pytest.raises(ValueError, match="out with one entry per row"):
        _core.stage_gradients(gradient, None, out[:5])


@pytest.mark.parametrize("n", [3000, 40_000])  # wide cells, packed cells
@pytest.mark.parametrize("one_each", [False, True])
def test_staged_gradients_grow_the_tree_of_the_numbers(n, one_each):
    given, gradient, hessian = newton(n)
    hessian = np.ones(n) if one_each else hessian
    whole, leaf = _core.grow_trees(*(given | {
        "targets": gradient[:, None], "weight": None if one_each else hessian, "want_leaves": True,
    }).values())  # fmt: skip
    words, scores = staged_reference(gradient, hessian), np.full(n, 0.5)
    change = {"staged": words, "one_each": one_each, "scores": scores, "rate": 0.1}
    staged, _ = _core.grow_trees(*(given | change).values())
    np.testing.assert_array_equal(staged["column"], whole["column"])
    np.testing.assert_array_equal(staged["threshold"], whole["threshold"])
    # Sums of many gradients rounded at random: off by less than a hundredth of what chance among rows does to them.
    np.testing.assert_allclose(staged["value"], whole["value"], atol=0.01 / np.sqrt(n / 12) + 1e-6)
    np.testing.assert_array_equal(scores, 0.5 + 0.1 * staged["value"][leaf])


def test_staged_trees_have_the_same_bits_on_any_number_of_threads():
    given, gradient, hessian = newton(60_000)
    found = []
    try:
        for threads in (1, 2):
            _core.set_threads(threads)
            scores = np.zeros(60_000)
            change = {"staged": staged_reference(gradient, hessian), "scores": scores, "rate": 0.3}
            arrays, _ = _core.grow_trees(*(given | change).values())
            found.append((scores.tobytes(), *(a.tobytes() for a in arrays.values())))
    finally:
        _core.set_threads(0)
    assert found[0] == found[1]
