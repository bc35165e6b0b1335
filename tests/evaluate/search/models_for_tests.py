"""Models that fail, hang, count and take fake time; in a module of their own so that other processes find them."""

from __future__ import annotations

import threading
import uuid

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class Tunable(ClassifierMixin, BaseEstimator):
    """Says the class of the nearest training mean; misbehaves for some values of its parameter."""

    def __init__(self, shift=0.0, fail_above=None, hang_above=None, nan_above=None, note=None):
        self.shift = shift
        self.note = note
        self.fail_above = fail_above
        self.hang_above = hang_above
        self.nan_above = nan_above

    def fit(self, X, y):
        if self.fail_above is not None and self.shift > self.fail_above:
            raise FloatingPointError(f"shift {self.shift:.3f} is too large")
        if self.hang_above is not None and self.shift > self.hang_above:
            if self.note is not None:
                (self.note / uuid.uuid4().hex).touch()
            threading.Event().wait()
        X = np.asarray(X, dtype=float)
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[np.asarray(y) == c].mean(axis=0) for c in self.classes_]) + self.shift
        return self

    def predict(self, X):
        gap = ((np.asarray(X, dtype=float)[:, None, :] - self.means_) ** 2).sum(axis=2)
        return self.classes_[gap.argmin(axis=1)]


class Mean(RegressorMixin, BaseEstimator):
    """The mean of the target times a factor; NaN answers for a factor above a limit."""

    def __init__(self, factor=1.0, nan_above=10.0):
        self.factor = factor
        self.nan_above = nan_above

    def fit(self, X, y):
        self.mean_ = float(np.mean(y)) * self.factor
        return self

    def predict(self, X):
        return np.full(len(X), np.nan if self.factor > self.nan_above else self.mean_)


class Clock:
    """Time that passes only when a model says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


CLOCK = Clock()


class Slow(ClassifierMixin, BaseEstimator):
    """Takes fake seconds: ``seconds`` times a factor drawn from its parameter, heavy in the tail."""

    def __init__(self, work=0.5, seconds=1.0, tail=3.0):
        self.work = work
        self.seconds = seconds
        self.tail = tail

    def fit(self, X, y):
        CLOCK.now += self.seconds * len(y) / 100 * np.exp(self.tail * (self.work - 0.5))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.most_)


class FakePool:
    """Runs jobs here, but ends those that take more fake time than allowed, as the real pool does."""

    start = 2.0

    def __init__(self, workers=None, timeout=None):
        self.workers, self.timeout = workers, timeout

    def run(self, jobs):
        begin = CLOCK.now
        ends = []
        for job in jobs:  # all begin at once
            CLOCK.now = begin
            result = job()
            late = self.timeout is not None and CLOCK.now - begin > self.timeout
            ends.append(begin + self.timeout if late else CLOCK.now)
            yield job.key, f"no result within {self.timeout:g} s; it was stopped" if late else result
        CLOCK.now = max(ends, default=begin)


class OneColumn(ClassifierMixin, BaseEstimator):
    """Two classes by one column: the side of its training mean on which a class is more frequent."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        values = np.asarray(X)[:, self.column]
        self.cut_ = values.mean()
        self.up_ = int(np.mean(y[values > self.cut_] == self.classes_[1]) >= 0.5)
        return self

    def predict(self, X):
        above = np.asarray(X)[:, self.column] > self.cut_
        return self.classes_[np.where(above, self.up_, 1 - self.up_)]


class SeesGroups(ClassifierMixin, BaseEstimator):
    """Says the class that it saw for the same first column (a name of a group), else the most frequent one."""

    def __init__(self, c=1.0):
        self.c = c

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        self.seen_ = dict(zip(np.asarray(X)[:, 0].tolist(), np.asarray(y).tolist(), strict=True))
        return self

    def predict(self, X):
        return np.array([self.seen_.get(v, self.most_) for v in np.asarray(X)[:, 0].tolist()])
