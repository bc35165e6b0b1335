from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tilth.stats import Sums


def words(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.poisson(0.8, (40, 5)).astype(float), rng.integers(-1, 3, 40), rng.uniform(0.5, 2.0, 40)


@pytest.mark.parametrize("binarize", [None, 0.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_codes_and_shares_give_the_same_sums(sparse: bool, binarize: float | None) -> None:
    rows, y, weight = words()
    counted = rows if binarize is None else (rows > binarize).astype(float)
    shares = (y[:, None] == np.arange(3)).astype(float)
    for groups in (y, shares):
        sums = Sums.empty(3, 5, binarize)
        sums.update(sp.csr_matrix(rows) if sparse else rows, groups, weight)
        np.testing.assert_allclose(sums.weight, weight @ shares)
        np.testing.assert_allclose(sums.sums, (shares * weight[:, None]).T @ counted)


def test_parts_add_up_and_means_of_a_group_without_rows_are_those_of_all() -> None:
    rows, _, weight = words(1)
    whole, parts = Sums.empty(2, 5), Sums.empty(2, 5)
    whole.update(rows, np.zeros(40, dtype=int), weight)
    for part in (slice(0, 7), slice(7, 40)):
        one = Sums.empty(2, 5)
        one.update(rows[part], np.zeros(len(rows[part]), dtype=int), weight[part])
        parts += one
    np.testing.assert_allclose(parts.sums, whole.sums)
    np.testing.assert_allclose(whole.mean, np.tile(np.average(rows, axis=0, weights=weight), (2, 1)))


def test_shares_of_other_groups_are_refused_and_nothing_changes() -> None:
    sums = Sums.empty(2, 5)
    with pytest.raises(ValueError, match="40 x 2"):
        sums.update(words()[0], np.ones((40, 3)))
    assert not sums.weight.any()
