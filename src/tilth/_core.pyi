"""Compiled kernels of tilth: arrays in, arrays out."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Real: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
_Floats: TypeAlias = NDArray[np.float64]
_Codes: TypeAlias = NDArray[np.int32]
_Longs: TypeAlias = NDArray[np.int64]
_Integers: TypeAlias = NDArray[np.signedinteger[Any]] | NDArray[np.uint8]
_CsrIndex: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
_CsrData: TypeAlias = _Real | NDArray[np.int64]

def max_threads() -> int: ...
def give_back_freed_memory() -> None: ...
def set_threads(limit: int) -> None: ...
def column_facts(X: _Real) -> tuple[_Floats, _Floats, _Longs, _Longs]: ...
def nearest_centres(X: _Floats, centres: _Floats) -> tuple[_Codes, _Floats]: ...
def class_moments(
    X: _Real, y: _Codes | None = None, k: int = 1, weight: _Floats | None = None
) -> tuple[_Floats, _Floats, _Floats]: ...
def class_counts(
    codes: _Codes, y: _Codes | None, k: int, offsets: _Longs, weight: _Floats | None = None
) -> _Floats: ...
def integer_facts(X: _Integers) -> tuple[_Longs, _Longs]: ...
def integer_presence(X: _Integers, low: _Longs, high: _Longs) -> tuple[NDArray[np.bool_], _Longs, int]: ...
def encode_integers(X: _Integers, low: _Longs, offsets: _Longs, lookup: _Codes) -> _Codes: ...
def csr_class_sums(
    indptr: _CsrIndex,
    indices: _CsrIndex,
    data: _CsrData,
    y: _Codes | None,
    k: int,
    n_columns: int,
    weight: _Floats | None = None,
    binarize: float | None = None,
) -> _Floats: ...
def csr_scores(
    indptr: _CsrIndex,
    indices: _CsrIndex,
    data: _CsrData,
    coef: _Floats,
    binarize: float | None = None,
) -> _Floats: ...
def add_gaussian(X: _Real, mean: _Floats, variance: _Floats, out: _Floats) -> None: ...
def add_table(codes: _Codes, offsets: _Longs, log_prob: _Floats, out: _Floats) -> None: ...
def row_softmax(scores: _Floats) -> tuple[_Floats, _Floats]: ...
def row_argmax(scores: _Floats) -> _Longs: ...
def auc_resamples(
    positive: NDArray[np.uint8],
    last: NDArray[np.uint8],
    unit: _Codes,
    units: int,
    weight: _Floats | None,
    repeats: int,
    seed: int,
) -> _Floats: ...
def average_precision_resamples(
    positive: NDArray[np.uint8],
    last: NDArray[np.uint8],
    unit: _Codes,
    units: int,
    weight: _Floats | None,
    repeats: int,
    seed: int,
) -> _Floats: ...
def weighted_gram(
    X: _Real,
    weight: _Floats | None = None,
    other: _Floats | None = None,
    scale: _Floats | None = None,
    shift: _Floats | None = None,
) -> tuple[_Floats, _Floats]: ...
def logistic_pass(
    X: _Real,
    y: _Floats,
    weight: _Floats | None,
    coef: _Floats,
    intercept: float,
    shift: _Floats | None = None,
    hessian: bool = False,
) -> tuple[float, _Floats, float, _Floats, _Floats, float]: ...
def softmax_pass(
    X: _Real, y: _Codes, weight: _Floats | None, coef: _Floats, intercept: _Floats
) -> tuple[float, _Floats, _Floats]: ...
def dense_times(X: _Real, coef: _Floats) -> _Floats: ...
def dense_back(X: _Real, r: _Floats) -> _Floats: ...
def bucket_values(counts: _Floats, min_bucket: float) -> _Longs: ...
def isolation_trees(
    numbers: _Real,
    codes: _Codes,
    levels: _Longs,
    upto: _Floats | None,
    subsample: int,
    max_depth: int,
    columns: int,
    seeds: NDArray[np.uint64],
) -> tuple[
    _Longs, NDArray[np.uint8], _Codes, _Floats, _Longs, _Codes, _Codes, _Codes, _Floats, _Floats, NDArray[np.uint64]
]: ...
def mean_path_length(n: float) -> float: ...
def stage_gradients(gradient: _Floats, hessian: _Floats | None, out: _Longs) -> None: ...
def squared_gradient(y: _Floats, score: _Floats, weight: _Floats | None, gradient: _Floats) -> None: ...
def logistic_gradient(
    y: _Floats, score: _Floats, weight: _Floats | None, gradient: _Floats, hessian: _Floats
) -> None: ...
def softmax_gradient(
    y: _Codes, score: _Floats, weight: _Floats | None, gradient: _Floats, hessian: _Floats
) -> None: ...
def add_leaves(score: _Floats, leaf: _Codes, value: _Floats) -> None: ...
def leaf_quantiles(value: _Floats, leaf: _Codes, q: float, n_leaves: int, weight: _Floats | None = None) -> _Floats: ...
def rank_gradient(
    gain: _Floats,
    score: _Floats,
    weight: _Floats | None,
    order: _Codes,
    start: _Longs,
    top: int,
    by_ndcg: bool,
    gradient: _Floats,
    hessian: _Floats,
) -> None: ...
def pack_trees(
    test: NDArray[np.uint8],
    column: _Codes,
    threshold: _Floats,
    subset: _Longs,
    child: _Codes,
    branches: _Codes,
    missing: _Codes,
    levels: _Codes | None = None,
) -> NDArray[np.uint8]: ...
def sum_trees(
    numbers: _Real,
    codes: _Codes,
    packed: NDArray[np.uint8],
    start: _Longs,
    bits: NDArray[np.uint64],
    value: _Floats,
    weight: _Floats,
    output: _Codes,
    n_outputs: int,
    scale: _Floats | None = None,
) -> _Floats: ...
def tree_leaves(
    numbers: _Real,
    codes: _Codes,
    packed: NDArray[np.uint8],
    start: _Longs,
    bits: NDArray[np.uint64],
    weight: _Floats,
) -> _Codes: ...
def tree_shap(
    numbers: _Real,
    codes: _Codes,
    packed: NDArray[np.uint8],
    start: _Longs,
    bits: NDArray[np.uint64],
    value: _Floats,
    weight: _Floats,
    output: _Codes,
    n_outputs: int,
    n_columns: int,
) -> tuple[_Floats, _Floats]: ...
def bin_edges(X: _Real, weight: _Floats | None, rows: _Codes | None, max_bins: int) -> list[_Floats]: ...
def bin_cells(numbers: _Real, codes: _Codes, edges: _Floats, first: _Longs, sizes: _Longs) -> NDArray[Any]: ...
def bag_counts(seed: int, rows: int, size: int, replace: bool) -> NDArray[np.uint16]: ...
def grow_trees(
    bins: NDArray[Any],
    sizes: _Longs,
    nominal: _Codes,
    edges: _Floats,
    first: _Longs,
    numbers: _Real | None,
    codes: _Codes | None,
    y: _Codes | None,
    n_classes: int,
    targets: _Floats | None,
    weight: _Floats | None,
    newton: bool,
    settings: dict[str, Any],
    seeds: _Longs,
    bag: tuple[int, bool] | None,
    rows: _Codes | None,
    want_leaves: bool,
    memory: NDArray[np.uint8] | None,
    staged: _Longs | None,
    one_each: bool,
    scores: _Floats | None,
    rate: float,
) -> tuple[dict[str, Any], _Codes | None]: ...
def level_sums(
    bins: NDArray[Any],
    sizes: _Longs,
    slot: _Codes,
    n_tables: int,
    n_slots: int,
    y: _Codes | None,
    n_classes: int,
    targets: _Floats | None,
    weight: _Floats | None,
    facts: tuple[int, float, bool, _Floats, _Floats],
) -> tuple[_Longs, _Longs]: ...
def level_splits(
    tables: _Longs,
    totals: _Longs,
    root: _Longs,
    depth: int,
    seed: NDArray[np.uint64],
    low: _Floats,
    high: _Floats,
    used: NDArray[np.uint8] | None,
    uniform: NDArray[np.uint8],
    sizes: _Longs,
    nominal: _Codes,
    edges: _Floats,
    first: _Longs,
    n_classes: int,
    n_outputs: int,
    facts: tuple[int, float, bool, _Floats, _Floats],
    settings: dict[str, Any],
) -> dict[str, Any]: ...
def level_lanes(
    totals: _Longs,
    root: _Longs,
    n_classes: int,
    n_outputs: int,
    facts: tuple[int, float, bool, _Floats, _Floats],
) -> tuple[_Floats, _Floats]: ...
def root_seed(seed: int) -> int: ...
def error_limits(errors: _Floats, weight: _Floats, confidence: float) -> _Floats: ...
def raise_branches(
    bins: NDArray[Any],
    sizes: _Longs,
    test: NDArray[np.uint8],
    column: _Codes,
    cut: _Codes,
    subset: _Longs,
    child: _Codes,
    branches: _Codes,
    missing: _Codes,
    bits: NDArray[np.uint64],
    y: _Codes,
    weight: _Floats | None,
    counts: _Floats,
    value: _Floats,
    confidence: float,
    slack: float,
) -> tuple[_Codes, _Floats, _Floats, bool]: ...
def coordinate_gram(
    gram: _Floats,
    slope: _Floats,
    w: _Floats,
    code: int,
    numbers: _Floats,
    starts: _Longs | None,
    bounds: _Floats | None,
    epochs: int,
    tol: float,
) -> tuple[int, float]: ...
def coordinate_dense(
    columns: _Floats,
    h: _Floats,
    curve: _Floats,
    mean: _Floats | None,
    r: _Floats,
    w: _Floats,
    code: int,
    numbers: _Floats,
    starts: _Longs | None,
    bounds: _Floats | None,
    epochs: int,
    tol: float,
) -> tuple[int, float]: ...
def coordinate_sparse(
    indptr: _CsrIndex,
    indices: _CsrIndex,
    data: _Floats,
    n: int,
    h: _Floats,
    curve: _Floats,
    mean: _Floats | None,
    r: _Floats,
    w: _Floats,
    code: int,
    numbers: _Floats,
    starts: _Longs | None,
    bounds: _Floats | None,
    epochs: int,
    tol: float,
) -> tuple[int, float]: ...
def best_subsets(
    gram: _Floats, cross: _Floats, total: float, largest: int, limit: int
) -> tuple[_Floats, NDArray[np.uint64], int, bool]: ...
def dual_coordinate(
    X: _Floats | tuple[_CsrIndex, _CsrIndex, _Floats, int],
    offset: _Floats,
    sign: _Floats,
    v: _Floats,
    low: float,
    high: float,
    square: float,
    dead: float,
    strength: float,
    intercept: bool,
    start: _Floats | None,
    tol: float,
    epochs: int,
    seed: int,
) -> tuple[_Floats, _Floats, float, float, int, bool]: ...
def perceptron(
    X: _Floats | tuple[_CsrIndex, _CsrIndex, _Floats, int],
    y: _Codes,
    weight: _Floats | None,
    start: _Floats,
    eta: float,
    intercept: bool,
    shuffle: bool,
    pocket: bool,
    epochs: int,
    updates: int,
    seed: int,
) -> tuple[_Floats, _Floats, int, int, float, bool]: ...
