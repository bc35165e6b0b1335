import numpy as np
import pytest

from tests.core import reference
from tests.core.inputs import labels, weights
from tilth import _core


def random_csr(n, p, per_row, index_type=np.int32, data_type=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 2 * per_row + 1, n) if p else np.zeros(n, int)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index_type)
    indices = rng.integers(0, max(p, 1), indptr[-1]).astype(index_type)
    return indptr, indices, (rng.random(indptr[-1]) * 10 - 2).astype(data_type)


@pytest.mark.parametrize(("n", "p", "per_row"), [(0, 3, 2), (4, 0, 1), (6, 5, 2), (2_000, 300, 40)])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("data_type", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("binarize", [None, 1.5])
def test_sums_and_scores_match_the_reference(n, p, per_row, index_type, data_type, binarize):
    csr = random_csr(n, p, per_row, index_type, data_type)
    y, w = labels(n, 3), weights(n)
    for weight in (None, w):
        ours = _core.csr_class_sums(*csr, y, 3, p, weight, binarize)
        wanted = reference.csr_class_sums(*csr, y, 3, p, weight, binarize)
        np.testing.assert_allclose(ours, wanted, rtol=1e-11, atol=1e-9)
    for k in (1, 2, 3, 4, 5, 9):
        coef = np.random.default_rng(k).normal(size=(p, k))
        ours = _core.csr_scores(*csr, coef, binarize)
        np.testing.assert_allclose(ours, reference.csr_scores(*csr, coef, binarize), rtol=1e-11, atol=1e-9)


def test_rows_of_a_slice_need_not_start_at_zero():
    indptr, indices, data = random_csr(50, 7, 4)
    coef = np.eye(7)
    whole = _core.csr_scores(indptr, indices, data, coef)
    np.testing.assert_array_equal(_core.csr_scores(indptr[20:31], indices, data, coef), whole[20:30])


@pytest.mark.parametrize("hostile", [-1, 7, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("n", [5, 3_000])
def test_a_column_out_of_range_is_refused(hostile, n):
    indptr = np.arange(0, 20 * n + 1, 20, dtype=np.int32)
    indices = np.zeros(20 * n, np.int32)
    indices[43] = hostile
    data = np.ones(20 * n)
    message = f"column indices from 0 to 6, found {hostile} at stored entry 3 of row 2"
    with pytest.raises(ValueError, match=message):
        _core.csr_class_sums(indptr, indices, data, np.zeros(n, np.int32), 1, 7)
    with pytest.raises(ValueError, match=message):
        _core.csr_scores(indptr, indices, data, np.zeros((7, 2)))


@pytest.mark.parametrize("indptr", [[0, 5, 4], [-1, 2, 4], [0, 2, 99], [3, 2, 4]])
def test_impossible_rows_are_refused(indptr):
    pointer = np.array(indptr, dtype=np.int64)
    with pytest.raises(ValueError, match="indptr that never decreases"):
        _core.csr_scores(pointer, np.zeros(5, np.int64), np.zeros(5), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"indptr": np.zeros(0, np.int32)}, ValueError, "rows \\+ 1 entries"),
        ({"indptr": np.zeros(3, np.int64)}, TypeError, "both int32 or both int64"),
        ({"indices": np.zeros(3, np.int32)}, ValueError, "indices with one entry per stored value"),
        ({"indices": np.zeros(8, np.int32)[::2]}, ValueError, "contiguous"),
        ({"data": np.zeros(4, np.int8)}, TypeError, "float64, float32 or int64"),
        ({"coef": np.zeros(3)}, ValueError, "2 dimensions"),
        ({"coef": np.asfortranarray(np.zeros((3, 2)))}, ValueError, "C order"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(change, error, message):
    good = {
        "indptr": np.array([0, 2, 4], np.int32),
        "indices": np.zeros(4, np.int32),
        "data": np.zeros(4),
        "coef": np.zeros((3, 2)),
    }
    assert _core.csr_scores(**good).shape == (2, 2)
    with pytest.raises(error, match=message):
        _core.csr_scores(**{**good, **change})
