"""Leaks as they are made in practice, planted into a clean frame; each gives arguments of an audit and codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


def numeric(frame, target):
    """The numeric columns without a target, complete."""
    found = frame.drop(columns=target).select_dtypes("number")
    found = found.loc[:, found.nunique() > 5]
    return found.fillna(found.mean())


def copies(frame, target, rng):
    extra = frame.sample(frac=0.3, random_state=int(rng.integers(1000)))
    return {"X": pd.concat([frame, extra], ignore_index=True), "y": target}, {"A101", "A103"}


def near_copies(frame, target, rng):
    table = numeric(frame, target)
    table[target] = frame[target].to_numpy()
    extra = table.sample(frac=0.3, random_state=int(rng.integers(1000)))
    for name in extra.columns.drop(target):
        extra[name] = extra[name] + 1e-4 * table[name].std() * rng.standard_normal(len(extra))
    return {"X": pd.concat([table, extra], ignore_index=True), "y": target}, {"A102"}


def oversampled(frame, target, rng):
    counts = frame[target].value_counts()
    parts = [frame]
    for label, n in counts.items():
        if n < counts.max():
            rows = frame[frame[target] == label]
            parts.append(rows.sample(counts.max() - n, replace=True, random_state=int(rng.integers(1000))))
    return {"X": pd.concat(parts, ignore_index=True), "y": target}, {"A101", "A103"}


def smote(frame, target, rng):
    from sklearn.neighbors import NearestNeighbors

    table = numeric(frame, target)
    label = frame[target].to_numpy()
    counts = pd.Series(label).value_counts()
    rare = counts.index[-1]
    points = table.to_numpy()[label == rare]
    scaled = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-9)
    _, near = NearestNeighbors(n_neighbors=6).fit(scaled).kneighbors(scaled)
    new = counts.max() - counts.min() or len(points)
    start = rng.integers(0, len(points), new)
    other = near[start, rng.integers(1, 6, new)]
    made = points[start] + rng.random((new, 1)) * (points[other] - points[start])
    X = np.concatenate([table.to_numpy(), made])
    return {"X": X, "y": np.concatenate([label, np.full(new, rare)])}, {"A103"}


def groups(frame, target, rng):
    """Four rows per person: their own noise on every column, and a target that belongs to the person."""
    n = min(len(frame) // 2, 150)
    people = frame.sample(n, random_state=int(rng.integers(1000))).reset_index(drop=True)
    table = numeric(people, target)
    who = np.repeat(np.arange(n), 4)
    X = table.iloc[who].reset_index(drop=True)
    for name in table:
        X[name] = X[name] + 0.05 * table[name].std() * rng.standard_normal(len(X))
    label = rng.permutation(people[target].to_numpy())[who]  # nothing but who it is tells the target
    X[target] = label
    X["patient"] = [f"p{i:03d}" for i in who]
    order = rng.permutation(len(X))
    return {"X": X.iloc[order].reset_index(drop=True), "y": target}, {"A111"}


def target_copy(frame, target, rng):
    labels = frame[target]
    if labels.dtype.kind in "fi" and labels.nunique() > 20:
        known = np.log1p(labels - labels.min())
    else:
        codes = pd.factorize(labels)[0].astype(float)
        known = codes + 0.1 * rng.standard_normal(len(codes))
    return {"X": frame.assign(outcome_code=known), "y": target}, {"A121"}


def sorted_identifier(frame, target, rng):
    ordered = frame.sort_values(target).reset_index(drop=True)
    ordered.insert(0, "record_id", np.arange(1000, 1000 + len(ordered)))
    return {"X": ordered, "y": target, "kinds": {"record_id": "numeric"}}, {"A121", "A122"}


def identifier(frame, target, rng):
    out = frame.reset_index(drop=True)
    out.insert(0, "record_id", rng.permutation(len(out)) + 5000)
    return {"X": out, "y": target, "kinds": {"record_id": "numeric"}}, {"A122"}


def gaps(frame, target, rng):
    first = frame[target].value_counts().index[0]
    cells = rng.normal(size=len(frame))
    known = (frame[target] != first) ^ (rng.random(len(frame)) < 0.02)
    return {"X": frame.assign(followup=np.where(known, cells, np.nan)), "y": target}, {"A121", "A123"}


def standardised(frame, target, rng):
    table = numeric(frame, target)
    return {"X": (table - table.mean()) / table.std(ddof=0), "y": frame[target].to_numpy()}, {"A131"}


def ranged(frame, target, rng):
    table = numeric(frame, target)
    return {"X": (table - table.min()) / (table.max() - table.min()), "y": frame[target].to_numpy()}, {"A131"}


def rotated(frame, target, rng):
    from sklearn.decomposition import PCA

    table = numeric(frame, target)
    table = (table - table.mean()) / table.std()
    return {"X": PCA().fit_transform(table), "y": frame[target].to_numpy()}, {"A131"}


def filled(frame, target, rng, share=0.1):
    table = numeric(frame, target)
    holes = table.mask(rng.random(table.shape) < share)
    return {"X": holes.fillna(holes.mean()), "y": frame[target].to_numpy()}, {"A132"}


def filled_by_class(frame, target, rng):
    table = numeric(frame, target)
    holes = table.mask(rng.random(table.shape) < 0.3)
    by_class = holes.groupby(frame[target].to_numpy()).transform("mean")
    return {"X": holes.fillna(by_class), "y": frame[target].to_numpy()}, {"A132"}


def target_encoded(frame, target, rng):
    """A nominal column of many levels that say nothing, as its levels' mean target."""
    table = numeric(frame, target)
    levels = rng.integers(0, max(3, len(frame) // 4), len(frame))
    y = frame[target]
    number = y if y.dtype.kind in "fi" and y.nunique() > 20 else (y == y.value_counts().index[0]).astype(float)
    table["town"] = number.groupby(levels).transform("mean").to_numpy(dtype=float)
    return {"X": table, "y": frame[target].to_numpy()}, {"A133"}


def chosen_columns(frame, target, rng):
    """The best of 1000 columns of noise."""
    from sklearn.feature_selection import f_classif, f_regression

    y = frame[target]
    noise = pd.DataFrame(rng.normal(size=(len(frame), 1000)), columns=[f"n{j}" for j in range(1000)])
    numbers = y.dtype.kind in "fi" and y.nunique() > 20
    score = (f_regression(noise, y) if numbers else f_classif(noise, pd.factorize(y)[0]))[0]
    best = noise.columns[np.sort(np.argsort(-score)[:20])]
    return {"X": noise[best], "y": y.to_numpy(), "source": noise}, {"A134"}


CLASS_LEAKS = {
    f.__name__: f
    for f in (
        copies, near_copies, oversampled, smote, groups, target_copy, sorted_identifier, identifier, gaps, standardised,
        ranged, rotated, filled, filled_by_class, target_encoded, chosen_columns,
    )
}  # fmt: skip
NUMBER_LEAKS = {
    f.__name__: f
    for f in (copies, near_copies, groups, target_copy, sorted_identifier, identifier, standardised, ranged, rotated,
              filled, target_encoded, chosen_columns)
}  # fmt: skip


def pytest_generate_tests(metafunc):
    """One test per kind of leak."""
    for name, leaks in (("class_leak", CLASS_LEAKS), ("number_leak", NUMBER_LEAKS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, list(leaks.values()), ids=list(leaks))


@pytest.fixture
def plants():
    """All leaks by name."""
    return CLASS_LEAKS
