from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from tilth import progress
from tilth.stats import Moments, QuantileSketch, ValueCounts, fold, register_backend
from tilth.stats.fold import _backends

WAYS = [("serial", None), ("threads", 1), ("threads", 2), ("threads", 5)]
make = partial(Moments.empty, 2, 3)


def rows(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 2.0, (n, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(0, 2, n), rng.random(n)


def chunked(*arrays: np.ndarray, n_chunks: int) -> list[tuple[np.ndarray, ...]]:
    return list(zip(*(np.array_split(array, n_chunks) for array in arrays), strict=True))


def assert_same_bits(left: Moments, right: Moments) -> None:
    for name in ("weight", "mean", "m2"):
        assert getattr(left, name).tobytes() == getattr(right, name).tobytes()


@pytest.mark.parametrize(("backend", "workers"), WAYS)
@pytest.mark.parametrize("n_chunks", [1, 2, 7, 23])
def test_any_backend_gives_the_same_bits(backend: str, workers: int | None, n_chunks: int) -> None:
    chunks = chunked(*rows(), n_chunks=n_chunks)
    expected = make()
    for chunk in chunks:
        part = make()
        part.update(*chunk)
        expected += part
    assert_same_bits(fold(make, chunks, backend=backend, workers=workers), expected)


@pytest.mark.parametrize("n_chunks", [2, 7, 400])
def test_any_chunking_gives_the_same_answer(n_chunks: int) -> None:
    whole = make()
    whole.update(*rows())
    folded = fold(make, chunked(*rows(), n_chunks=n_chunks))
    np.testing.assert_allclose(folded.weight, whole.weight, rtol=1e-12)
    np.testing.assert_allclose(folded.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(folded.m2, whole.m2, rtol=1e-12)


@pytest.mark.parametrize(("backend", "workers"), WAYS)
def test_no_chunks_give_the_empty_statistic(backend: str, workers: int | None) -> None:
    assert fold(make, [], backend=backend, workers=workers).weight.sum() == 0


def test_an_array_is_one_argument_and_update_can_be_given() -> None:
    assert fold(QuantileSketch.empty, [np.arange(3.0), np.arange(4.0)]).count == 7
    chunks = [{"x": [1.0, 2.0]}, {"x": [2.0]}]
    folded = fold(ValueCounts.empty, chunks, lambda statistic, chunk: statistic.update(chunk["x"]))
    np.testing.assert_array_equal(folded.counts, [[1], [2]])


@pytest.mark.parametrize(("backend", "workers"), WAYS)
def test_a_bad_chunk_is_named_and_stops_the_rest(backend: str, workers: int | None) -> None:
    read: list[int] = []

    def chunks() -> Iterator[np.ndarray]:
        for number in range(1000):
            read.append(number)
            yield np.zeros((2, 2)) if number == 6 else np.zeros(2)

    before = threading.active_count()
    with pytest.raises(ValueError, match="one column at a time") as caught:
        fold(QuantileSketch.empty, chunks(), backend=backend, workers=workers)
    assert any("chunk 6 of the fold" in note for note in caught.value.__notes__)
    assert len(read) <= 6 + 1 + 2 * (workers or 0)
    assert threading.active_count() == before


@pytest.mark.parametrize(("backend", "workers"), WAYS)
def test_an_error_while_reading_is_named(backend: str, workers: int | None) -> None:
    def chunks() -> Iterator[np.ndarray]:
        yield np.zeros(2)
        yield np.zeros(2)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone") as caught:
        fold(QuantileSketch.empty, chunks(), backend=backend, workers=workers)
    assert any("while chunk 2 was read" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_never_read_far_ahead(workers: int) -> None:
    done = read = largest_lead = 0
    lock = threading.Lock()

    def chunks() -> Iterator[np.ndarray]:
        nonlocal read, largest_lead
        for _ in range(60):
            with lock:
                read += 1
                largest_lead = max(largest_lead, read - merged.count)
            yield np.zeros(1)

    class Merged:
        count = 0

    merged = Merged()

    def on_progress(event: progress.Event) -> None:
        merged.count = int(event["done"])

    def update(statistic: QuantileSketch, chunk: np.ndarray) -> None:
        nonlocal done
        statistic.update(chunk)
        with lock:
            done += 1

    with progress.listen(on_progress):
        fold(QuantileSketch.empty, chunks(), update, backend="threads", workers=workers)
    assert done == 60
    assert largest_lead <= 2 * workers


def test_threads_work_at_the_same_time() -> None:
    together = threading.Barrier(3)  # passes only if three chunks are under way at once

    def update(statistic: QuantileSketch, chunk: np.ndarray) -> None:
        together.wait(timeout=30)
        statistic.update(chunk)

    assert fold(QuantileSketch.empty, [np.zeros(1)] * 6, update, backend="threads", workers=3).count == 6


def test_an_interrupt_stops_the_workers() -> None:
    def interrupt(event: progress.Event) -> None:
        if event["state"] == "advance":
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), progress.listen(interrupt):
        fold(QuantileSketch.empty, [np.zeros(1)] * 50, backend="threads", workers=2)
    assert threading.active_count() == before


def test_progress_is_reported_also_from_inside_the_threads() -> None:
    events: list[progress.Event] = []

    def update(statistic: QuantileSketch, chunk: np.ndarray) -> None:
        with progress.task("inner", total=1):
            statistic.update(chunk)

    with progress.listen(events.append):
        fold(QuantileSketch.empty, [np.zeros(1)] * 4, update, backend="threads", workers=2, title="outer")
    outer = [event for event in events if event["title"] == "outer"]
    assert [event["done"] for event in outer] == [0, 1, 2, 3, 4, 4]
    assert all(event["total"] == 4 for event in outer)
    inner = [event for event in events if event["title"] == "inner"]
    assert len(inner) == 8
    assert {event["depth"] for event in inner} == {1}


@pytest.fixture
def backend_name() -> Iterator[str]:
    yield "pickled"
    _backends.pop("pickled", None)


def test_a_registered_backend_may_pickle_the_task(backend_name: str) -> None:
    def runner(task: Callable[[Any], Any], chunks: Iterable[Any], workers: int) -> Iterator[Any]:
        for chunk in chunks:
            sent, part = pickle.loads(pickle.dumps((task, chunk)))
            yield pickle.loads(pickle.dumps(sent(part)))

    register_backend(backend_name, runner)
    chunks = chunked(*rows(), n_chunks=5)
    assert_same_bits(fold(make, chunks, backend=backend_name), fold(make, chunks))


def test_a_backend_that_loses_chunks_is_found_out(backend_name: str) -> None:
    register_backend(backend_name, lambda task, chunks, workers: [task(chunk) for chunk in chunks][1:])
    with pytest.raises(RuntimeError, match="read 5 chunks but gave back 4 results"):
        fold(make, chunked(*rows(), n_chunks=5), backend=backend_name)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match=r"backends serial, threads.*'dusk'"):
        fold(make, [], backend="dusk")
    with pytest.raises(ValueError, match="workers must be 1 or more"):
        fold(make, [], backend="threads", workers=0)
    with pytest.raises(ValueError, match="built in"):
        register_backend("threads", lambda task, chunks, workers: [])
    with pytest.raises(TypeError, match="must be a function"):
        register_backend("nothing", None)
