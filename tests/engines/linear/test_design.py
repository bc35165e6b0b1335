"""All designs are the matrix they stand for: products with them are products with it."""

import numpy as np
import pytest
import scipy.sparse as sp

from tilth.engines.linear.design import DenseDesign, OneHotDesign, SparseDesign, Terms, blocks

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(300, 3)) + 5
# -1 is missing, -2 a level that training did not have
CODES = np.column_stack([RNG.integers(-2, 4, 300), RNG.integers(-1, 2, 300)]).astype(np.int32)

DESIGNS = {
    "rows together": DenseDesign(NUMBERS),
    "columns together": DenseDesign(np.asfortranarray(NUMBERS)),
    "float32": DenseDesign(NUMBERS.astype(np.float32)),
    "wide": DenseDesign(RNG.normal(size=(50, 80))),
    "no columns": DenseDesign(np.empty((9, 0))),
    "sparse": SparseDesign(sp.random(300, 20, 0.2, "csr", random_state=0)),
    "sparse counts": SparseDesign(sp.csr_matrix(RNG.poisson(0.2, size=(300, 8)).astype(np.int32))),
    "levels": OneHotDesign(NUMBERS, CODES, [4, 2]),
    "levels less the first": OneHotDesign(NUMBERS, CODES, [4, 2], 1),
    "levels alone": OneHotDesign(NUMBERS[:, :0], CODES, [4, 2], 1),
    "no rows": OneHotDesign(NUMBERS[:0], CODES[:0], [4, 2]),
}
del RNG  # tests draw from generators of their own


@pytest.fixture(params=DESIGNS)
def design(request):
    return DESIGNS[request.param]


def close(ours, wanted):
    np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
def test_products(design, outputs):
    rng = np.random.default_rng(101)
    X = design.dense().astype(np.float64)
    n, p = X.shape
    assert (design.n_rows, design.n_cols) == (n, p)
    w, r = rng.normal(size=(p, *outputs)), rng.normal(size=(n, *outputs))
    close(design.matvec(w), X @ w)
    close(design.rmatvec(r), X.T @ r)
    # <X w, r> = <w, X' r>: one is the adjoint of the other
    close(np.vdot(design.matvec(w), r), np.vdot(w, design.rmatvec(r)))


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_products(design, weighted):
    rng = np.random.default_rng(102)
    X = design.dense().astype(np.float64)
    n, p = X.shape
    weight = rng.random(n) if weighted else None
    w = np.ones(n) if weight is None else weight
    gram = design.gram(weight)
    close(gram, X.T @ (X * w[:, None]))
    close(gram, gram.T)
    close(design.squares(weight), w @ X**2)
    other, scale, shift = rng.normal(size=(n, 2)), rng.random(p + 2), rng.random(p + 2)
    Z = np.hstack([X, other])
    for columns, change in ((Z, (None, None)), (Z * scale - shift, (scale, shift))):
        cross, sums = design.moments(weight, other, *change)
        close(cross, columns.T @ (columns * w[:, None]))
        close(sums, w @ columns)


def test_some_rows_and_some_columns(design):
    X = design.dense()
    rows = np.arange(min(5, design.n_rows))
    close(design.take(rows).dense(), X[rows])
    columns = np.arange(0, design.n_cols, 2)
    close(design.pick(columns).dense(), X[:, columns])


def test_where_columns_lie(design):
    X = design.dense()
    if len(X):
        close(design.largest(), np.abs(X).max(axis=0, initial=0.0))
        low, high = np.minimum(X.min(axis=0), 0.0), np.maximum(X.max(axis=0), 0.0)
        assert ((low <= design.middle()) & (design.middle() <= high)).all()
    assert design.middle().shape == (design.n_cols,)


def test_squares_of_entries_stored_in_parts():
    rows = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    design = SparseDesign(rows)
    close(design.squares(), [9.0, 9.0])
    close(design.matvec(np.array([1.0, 1.0])), [3.0, 3.0])
    assert rows.nnz == 3, "the matrix of the caller is as it was"


def test_terms_have_places_among_others():
    few = Terms(("age",), (("job", ("cook", "nurse")),), reference=True)
    many = Terms(("age", "pay"), (("job", ("actor", "cook", "nurse")),))
    assert few.names == ["age", "job=nurse"]
    assert few.places(many).tolist() == [0, 4]


def test_names_that_look_alike_stay_apart():
    terms = Terms(("job=cook",), (("job", ("cook", "nurse")),))
    assert terms.places(terms).tolist() == [0, 1, 2]


def test_blocks_cover_all_rows_once():
    rows = np.concatenate([np.arange(10_000)[b] for b in blocks(10_000, 3_000)])
    assert (rows == np.arange(10_000)).all()
    assert blocks(0, 5) == []
