"""What each kernel means, in a few lines of numpy: the documentation and the oracle of the compiled code."""

from __future__ import annotations

import numpy as np


def column_facts(X):
    X = np.asarray(X, dtype=np.float64)
    finite = np.isfinite(X)
    low = np.where(finite, X, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, X, -np.inf).max(axis=0, initial=-np.inf)
    seen = finite.any(axis=0)
    return (
        np.where(seen, low, np.nan),
        np.where(seen, high, np.nan),
        np.isnan(X).sum(axis=0),
        np.isinf(X).sum(axis=0),
    )


def class_moments(X, y, k, weight):
    X = np.asarray(X, dtype=np.float64)
    n, p = X.shape
    y = np.zeros(n, dtype=np.int32) if y is None else y
    weight = np.ones(n) if weight is None else weight
    total, mean, m2 = np.zeros((3, k, p))
    for c in range(k):
        rows, w = X[y == c], weight[y == c][:, None]
        known = ~np.isnan(rows)
        total[c] = np.where(known, w, 0.0).sum(axis=0)
        some = total[c] > 0
        mean[c, some] = np.where(known, w * rows, 0.0).sum(axis=0)[some] / total[c, some]
        m2[c] = np.where(known, w * (rows - mean[c]) ** 2, 0.0).sum(axis=0)
    return total, mean, m2


def class_counts(codes, y, k, offsets, weight):
    n, p = codes.shape
    weight = np.ones(n) if weight is None else weight
    table = np.zeros((k, offsets[-1]))
    for j in range(p):
        use = (codes[:, j] >= 0) & (y >= 0)
        np.add.at(table, (y[use], offsets[j] + codes[use, j]), weight[use])
    return table


def add_gaussian(X, mean, variance, out):
    X = np.asarray(X, dtype=np.float64)[:, None, :]
    terms = -0.5 * np.log(2 * np.pi * variance) - (X - mean) ** 2 / (2 * variance)
    out += np.where(np.isnan(X), 0.0, terms).sum(axis=2)


def add_table(codes, offsets, log_prob, out):
    for j in range(codes.shape[1]):
        seen = codes[:, j] >= 0
        out[seen] += log_prob[offsets[j] + codes[seen, j]]


def row_softmax(scores):
    highest = scores.max(axis=1, keepdims=True)
    lost = np.isneginf(highest[:, 0])
    powers = np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))
    powers[lost] = 1.0
    total = powers.sum(axis=1, keepdims=True)
    return powers / total, np.where(lost, -np.inf, (highest + np.log(total))[:, 0])


def row_argmax(scores):
    return np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)


def csr_dense(indptr, indices, data, n_columns, binarize):
    dense = np.zeros((len(indptr) - 1, n_columns))
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    values = np.asarray(data, dtype=np.float64) if binarize is None else (data > binarize).astype(float)
    np.add.at(dense, (rows, indices), values)
    return dense


def csr_class_sums(indptr, indices, data, y, k, n_columns, weight, binarize):
    dense = csr_dense(indptr, indices, data, n_columns, binarize)
    member = np.zeros((k, len(dense)))
    used = np.flatnonzero(y >= 0)
    member[y[used], used] = 1.0 if weight is None else weight[used]
    return member @ dense


def csr_scores(indptr, indices, data, coef, binarize):
    return csr_dense(indptr, indices, data, len(coef), binarize) @ coef


def integer_presence(X, low, high):
    flags = [np.isin(np.arange(a, b + 1), X[:, j]) for j, (a, b) in enumerate(zip(low, high, strict=True))]
    return np.concatenate([*flags, np.zeros(0, bool)]), np.cumsum([0, *map(len, flags)])


def encode_integers(X, low, offsets, lookup):
    at = X.astype(np.int64) - low
    inside = (at >= 0) & (at < np.diff(offsets))
    if not lookup.size:
        return np.full(X.shape, -2, dtype=np.int32)
    return np.where(inside, lookup[np.where(inside, offsets[:-1] + at, 0)], -2)


def bucket_values(counts, min_bucket):
    """Holte (1993), step by step, on plain lists."""
    counts = [list(map(float, row)) for row in counts]

    def majority(row):
        return row.index(max(row))

    buckets, v = [], 0
    while v < len(counts):
        start, bucket = v, [0.0] * len(counts[0])
        while v < len(counts):
            if max(bucket) >= min_bucket and majority(counts[v]) != majority(bucket):
                break
            bucket = [a + b for a, b in zip(bucket, counts[v], strict=True)]
            v += 1
        buckets.append((start, bucket))
    if len(buckets) > 1 and max(buckets[-1][1]) < min_bucket:
        (_, short), (start, before) = buckets.pop(), buckets.pop()
        buckets.append((start, [a + b for a, b in zip(before, short, strict=True)]))
    tops = [majority(bucket) for _, bucket in buckets]
    return [buckets[b][0] for b in range(1, len(buckets)) if tops[b] != tops[b - 1]]
