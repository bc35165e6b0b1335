"""Answers, leaves and Shapley values of finished trees, against walks in plain Python."""

import numpy as np
import pytest

from tests.core import reference_trees as reference
from tests.core.inputs import LAYOUTS
from tests.core.reference_trees import MULTIWAY, SUBSET, THRESHOLD, random_rows, random_trees
from tilth import _core

MIXED = [0, 0, 0, 2, 5, 70]
#: Every way through the kernels: plain thresholds, missing values aside, level sets, many branches, shares.
FORESTS = {
    "plain": {"levels": [0] * 5, "shared": False, "own": False, "n_trees": 20},
    "own branch": {"levels": [0] * 5, "shared": False, "n_trees": 9},
    "ordinal": {"levels": [0, 0, 4, 9], "kinds": (THRESHOLD,), "shared": False, "own": False, "n_trees": 9},
    "subset": {"levels": MIXED, "kinds": (THRESHOLD, SUBSET), "shared": False, "n_trees": 10, "n_leaves": 20},
    "multiway": {"levels": [0, 3, 4], "kinds": (MULTIWAY,), "shared": False, "n_trees": 4},
    "shared": {"levels": MIXED, "n_trees": 4, "n_leaves": 30},
    "coded only": {"levels": [3, 200, 5], "n_trees": 5},
    "many classes": {"levels": MIXED, "width": 4, "n_trees": 5},
    "one output each": {"levels": MIXED, "outputs": 3, "n_trees": 10},
    "big": {"levels": [0] * 4, "n_leaves": 300, "n_trees": 2, "shared": False, "own": False},
    "stumps": {"levels": [0, 0, 3], "n_leaves": 2, "n_trees": 12},
    "leaves only": {"levels": [0, 3], "n_leaves": 1},
    "no trees": {"levels": [0, 3], "n_trees": 0},
    "no columns": {"levels": []},
}


def packed(trees, levels=True):
    return _core.pack_trees(
        trees.test, trees.column, trees.threshold, trees.subset, trees.child, trees.branches, trees.missing,
        trees.levels if levels else None,
    )  # fmt: skip


def sum_trees(trees, numbers, codes, scale=None, levels=True):
    return _core.sum_trees(
        numbers, codes, packed(trees, levels), trees.start, trees.bits, trees.value, trees.weight, trees.output,
        trees.n_outputs, scale,
    )  # fmt: skip


def tree_leaves(trees, numbers, codes):
    return _core.tree_leaves(numbers, codes, packed(trees), trees.start, trees.bits, trees.weight)


def tree_shap(trees, numbers, codes):
    return _core.tree_shap(
        numbers, codes, packed(trees), trees.start, trees.bits, trees.value, trees.weight, trees.output,
        trees.n_outputs, len(trees.levels),
    )  # fmt: skip


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n", [0, 1, 7, 75])
def test_sums_and_leaves_match_the_reference(name, missing, n):
    trees = random_trees(**FORESTS[name])
    numbers, codes = random_rows(FORESTS[name]["levels"], n, missing)
    np.testing.assert_allclose(sum_trees(trees, numbers, codes), reference.sum_trees(trees, numbers, codes), atol=1e-12)
    np.testing.assert_array_equal(tree_leaves(trees, numbers, codes), reference.tree_leaves(trees, numbers, codes))


@pytest.mark.parametrize("name", ["plain", "own branch", "ordinal", "subset", "multiway", "one output each", "big"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_many_rows_get_the_same_bits_as_few(name, missing):
    trees = random_trees(**{**FORESTS[name], "n_trees": 40, "n_leaves": 90 if name == "big" else 12}, seed=3)
    trees.threshold[::9] *= 1e6  # far apart: no even grid serves these thresholds
    numbers, codes = random_rows(FORESTS[name]["levels"], 2_001, missing)
    scale = np.random.default_rng(0).random(40)
    many = sum_trees(trees, numbers, codes, scale)
    few = [sum_trees(trees, numbers[i : i + 5], codes[i : i + 5], scale) for i in range(0, 2_001, 5)]
    np.testing.assert_array_equal(many, np.concatenate(few))
    np.testing.assert_allclose(many[:50], reference.sum_trees(trees, numbers[:50], codes[:50], scale), atol=1e-12)


@pytest.mark.parametrize("name", ["plain", "shared"])
def test_infinite_numbers_and_thresholds_hit_exactly(name):
    trees = random_trees(**FORESTS[name])
    numbers, codes = random_rows(FORESTS[name]["levels"], 100, 0.1)
    numbers[::3] = np.inf
    numbers[1::3] = -np.inf
    asked = trees.threshold[(trees.test == THRESHOLD) & (trees.column == 0)]
    numbers[: len(asked), 0] = asked
    np.testing.assert_array_equal(tree_leaves(trees, numbers, codes), reference.tree_leaves(trees, numbers, codes))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_do_not_depend_on_the_layout(layout, dtype):
    trees = random_trees(MIXED, n_trees=5)
    numbers, codes = random_rows(MIXED, 300)
    numbers, codes = LAYOUTS[layout](numbers.astype(dtype)), LAYOUTS[layout](codes)
    np.testing.assert_allclose(sum_trees(trees, numbers, codes), reference.sum_trees(trees, numbers, codes), atol=1e-12)
    phi, base = tree_shap(trees, numbers, codes)
    np.testing.assert_allclose(phi.sum(axis=2) + base, sum_trees(trees, numbers, codes), atol=1e-9)


def test_without_level_counts_codes_within_the_levels_go_the_same_way():
    trees = random_trees(MIXED, n_trees=5, seed=4)
    numbers, codes = random_rows(MIXED, 300, missing=0.0)
    codes[::7] = -1
    np.testing.assert_array_equal(sum_trees(trees, numbers, codes, levels=False), sum_trees(trees, numbers, codes))
    codes[:, :] = np.iinfo(np.int32).max  # nothing to compare with, but nothing may be read outside either
    assert np.isfinite(sum_trees(trees, numbers, codes, levels=False)).all()


def test_sums_have_the_same_bits_on_any_number_of_threads():
    try:
        for name in ("plain", "subset", "shared", "big"):
            trees = random_trees(**{**FORESTS[name], "n_trees": 30, "n_leaves": 20})
            numbers, codes = random_rows(FORESTS[name]["levels"], 3_000)
            answers = []
            for threads in (1, 2, 0):
                _core.set_threads(threads)
                phi, base = tree_shap(trees, numbers[:200], codes[:200])
                leaves = tree_leaves(trees, numbers, codes)
                answers.append([sum_trees(trees, numbers, codes), leaves, phi, base])
            for other in answers[1:]:
                for ours, wanted in zip(other, answers[0], strict=True):
                    np.testing.assert_array_equal(ours, wanted)
    finally:
        _core.set_threads(0)


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_shapley_values_match_their_definition(name, missing):
    trees = random_trees(**FORESTS[name], seed=5)
    numbers, codes = random_rows(FORESTS[name]["levels"], 6, missing)
    phi, base = tree_shap(trees, numbers, codes)
    wanted, wanted_base = reference.tree_shap(trees, numbers, codes)
    np.testing.assert_allclose(base, wanted_base, atol=1e-12)
    np.testing.assert_allclose(phi, wanted, atol=1e-12)


@pytest.mark.parametrize("columns", [1, 9, 60])
def test_shapley_values_of_deep_trees_add_up_to_the_answer(columns):
    trees = random_trees([0] * columns, n_trees=4, n_leaves=120, own=False, seed=6)
    n = trees.start[1]  # a chain: every right branch is split again
    inner = np.arange(0, n - 1, 2)
    trees.child[:n], trees.test[:n], trees.column[:n], trees.branches[:n] = -1, 0, -1, 0
    trees.child[inner], trees.test[inner], trees.branches[inner] = inner + 1, THRESHOLD, 2
    trees.column[inner], trees.missing[inner] = inner // 2 % columns, inner // 2 % 2
    numbers, codes = random_rows([0] * columns, 40, 0.1)
    phi, base = tree_shap(trees, numbers, codes)
    np.testing.assert_allclose(phi.sum(axis=2) + base, sum_trees(trees, numbers, codes), rtol=0, atol=1e-11)


def test_a_row_that_agrees_with_every_branch_without_weight_still_adds_up():
    trees = random_trees(MIXED, n_trees=6, n_leaves=25, seed=7)
    trees.weight[trees.test == 0] *= np.random.default_rng(0).random((trees.test == 0).sum()) > 0.5
    numbers, codes = random_rows(MIXED, 200, 0.2)
    phi, base = tree_shap(trees, numbers, codes)
    assert np.isfinite(phi).all()
    np.testing.assert_allclose(phi.sum(axis=2) + base, sum_trees(trees, numbers, codes), atol=1e-11)


def test_tiny_weights_do_not_overflow():
    trees = random_trees([0] * 4, n_trees=3, n_leaves=20, seed=8, own=False)
    trees.weight[2::3] = 1e-320
    numbers, codes = random_rows([0] * 4, 100, 0.2)
    phi, base = tree_shap(trees, numbers, codes)
    np.testing.assert_allclose(phi.sum(axis=2) + base, sum_trees(trees, numbers, codes), atol=1e-11)


def test_a_column_that_no_test_asks_gets_nothing():
    trees = random_trees([0, 0], n_trees=3)
    trees.levels = np.zeros(5, dtype=np.int32)
    phi, _ = tree_shap(trees, np.random.default_rng(0).normal(size=(10, 5)), np.zeros((10, 0), np.int32))
    assert not phi[:, :, 2:].any()


# ------------------------------------------------------------------------------------------------- hostile arrays

BROKEN = {
    "unknown test": ("test", 0, 4, "unknown test 4"),
    "column below 0": ("column", 0, -1, "asks column -1"),
    "column too high": ("column", 0, 6, "asks column 6 of 6"),
    "backwards": ("child", 0, 0, "backwards or outside"),
    "outside": ("child", 0, 10_000, "backwards or outside"),
    "one branch": ("branches", 0, 1, "has 1 branches"),
    "no way for missing": ("missing", 0, 9, "sends missing values to branch 9"),
    "missing below shared": ("missing", 0, -2, "sends missing values to branch -2"),
    "threshold": ("threshold", 0, np.nan, "not a finite number"),
    "leaf with children": ("child", -1, 3, "is a leaf with branches"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_trees_are_refused(name):
    field, node, value, message = BROKEN[name]
    trees = random_trees(MIXED, kinds=(THRESHOLD,), n_trees=2)
    getattr(trees, field)[node] = value
    with pytest.raises(ValueError, match=message):
        packed(trees)


def test_broken_level_tests_are_refused():
    trees = random_trees([0, 4], kinds=(SUBSET,), n_trees=3, n_leaves=10)
    node = np.flatnonzero(trees.test == SUBSET)[0]
    numbers, codes = random_rows([0, 4], 3)
    trees.bits = trees.bits[:1]
    with pytest.raises(ValueError, match="level sets need"):
        sum_trees(trees, numbers, codes)
    with pytest.raises(ValueError, match="level sets need"):
        sum_trees(trees, numbers, codes, levels=False)
    trees.subset[node] = -1
    with pytest.raises(ValueError, match="level set at word -1"):
        packed(trees)
    trees.subset[node], trees.column[node] = 0, 0
    with pytest.raises(ValueError, match="levels of column 0, which has none"):
        packed(trees)
    trees = random_trees([4], kinds=(MULTIWAY,), n_trees=1)
    trees.levels[0] = 3 if trees.branches[0] == 5 else 5
    with pytest.raises(ValueError, match=r"has \d branches for \d levels"):
        packed(trees)
    trees = random_trees([4, 4], kinds=(SUBSET,), n_trees=3, n_leaves=10)
    with pytest.raises(ValueError, match="which holds numbers"):
        sum_trees(trees, np.zeros((3, 2)), np.zeros((3, 0), np.int32))


def test_arrays_that_do_not_fit_are_refused():
    trees = random_trees(MIXED)
    numbers, codes = random_rows(MIXED, 4)
    good = {
        "numbers": numbers, "codes": codes, "packed": packed(trees), "start": trees.start, "bits": trees.bits,
        "value": trees.value, "weight": trees.weight, "output": trees.output, "n_outputs": 1, "scale": None,
    }  # fmt: skip
    _core.sum_trees(**good)
    bad = [
        ("numbers", codes, TypeError, "float64 or float32"),
        ("numbers", numbers[0], ValueError, "2 dimensions"),
        ("numbers", numbers[:, :1], ValueError, "they ask"),
        ("codes", codes[:2], ValueError, "same rows"),
        ("codes", codes.astype(np.int64), TypeError, "int32"),
        ("packed", good["packed"][:-16].copy(), ValueError, "as pack_trees made it"),
        ("packed", np.zeros(64, np.uint8), ValueError, "as pack_trees made it"),
        ("packed", np.zeros(0, np.uint8), ValueError, "as pack_trees made it"),
        ("start", trees.start[:-1], ValueError, "does not span"),
        ("start", trees.start[[0, 1, 1, 3]], ValueError, "does not increase"),
        ("start", trees.start[:0], ValueError, "one entry per tree"),
        ("value", trees.value[:-1], ValueError, "of shape"),
        ("value", np.hstack([trees.value] * 2), ValueError, "value with 1 columns"),
        ("weight", trees.weight[1:], ValueError, "one entry per node"),
        ("output", np.zeros(2, np.int32), ValueError, "one entry per tree"),
        ("output", np.full(3, 1, np.int32), ValueError, "found 1 for tree 0"),
        ("n_outputs", 2, ValueError, "value with 2 columns"),
        ("scale", np.ones(2), ValueError, "one entry per tree"),
    ]
    for name, value, error, message in bad:
        with pytest.raises(error, match=message):
            _core.sum_trees(**{**good, name: value})


def test_shap_needs_whole_trees_and_all_columns():
    trees = random_trees(MIXED, n_trees=2)
    numbers, codes = random_rows(MIXED, 4)
    arguments = [numbers, codes, packed(trees), trees.start, trees.bits, trees.value, trees.weight, trees.output, 1]
    with pytest.raises(ValueError, match="n_columns equal to"):
        _core.tree_shap(*arguments, 5)
    arguments[3] = np.array([0, 2, trees.start[-1]])
    with pytest.raises(ValueError, match="leads out of tree 0"):
        _core.tree_shap(*arguments, 6)
    trees = random_trees([0], n_trees=1, n_leaves=4, own=False)
    inner = np.flatnonzero(trees.test)
    trees.child[inner[1]] = trees.child[inner[0]] + 1 if inner[1] == 1 else trees.child[inner[2]]
    with pytest.raises(ValueError, match=r"one parent|have a parent"):
        tree_shap(trees, np.zeros((1, 1)), np.zeros((1, 0), np.int32))


def test_packed_trees_cannot_be_changed():
    assert not packed(random_trees(MIXED)).flags.writeable
