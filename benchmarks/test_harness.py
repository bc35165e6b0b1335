"""The harness itself, on work that takes no time: ``pytest benchmarks``. No time is asserted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__, data, tables
from benchmarks.harness import Contestant, Result, Step, Timing, Workload, _growth, run
from benchmarks.machine import facts
from benchmarks.memory import peak_of
from benchmarks.workloads import WORKLOADS


def recorder(log: list[str], who: str, *steps: str) -> Contestant:
    def step(name: str) -> Step:
        def work(subject: Any, data: Any) -> str:
            log.append(f"{who} {name}")
            return log[-1]

        return work

    return Contestant(lambda data: who, {name: step(name) for name in steps})


def workload(log: list[str], **more: Contestant) -> Workload:
    return Workload(
        "toy",
        "A toy",
        lambda quick: "no data",
        {"a": recorder(log, "a", "fit", "predict"), **more},
        {"b": recorder(log, "b", "fit", "predict")},
        quality=lambda data, answers: {who: {"said": given["predict"]} for who, given in answers.items()},
        targets={"fit": 1e9},
    )


def test_rounds_are_interleaved_and_the_first_is_a_warm_up() -> None:
    log: list[str] = []
    result = run(workload(log), rounds=2, weigh=False)
    assert log == ["a fit", "a predict", "b fit", "b predict"] * 3
    assert result.timings["a"]["fit"].rounds == 2
    assert result.yardstick == "b"
    assert result.quality == {"a": {"said": "a predict"}, "b": {"said": "b predict"}}


def test_a_contestant_that_is_not_there_or_fails_costs_only_itself() -> None:
    def gone(data: Any) -> Any:
        raise ImportError("no such library")

    def broken(subject: Any, data: Any) -> Any:
        raise ValueError("cannot")

    missing = Contestant(gone, {"fit": lambda s, d: None})
    failing = Contestant(lambda d: None, {"fit": broken})
    result = run(workload([], c=missing, d=failing), rounds=1, weigh=False)
    assert list(result.timings) == ["a", "b"]
    assert result.absent == {"c": "ImportError: no such library", "d": "ValueError: cannot"}
    assert "c did not take part: ImportError: no such library" in tables.table(result)


def test_a_slow_contestant_sits_out_rounds_and_the_table_says_so() -> None:
    log: list[str] = []
    once = Contestant(lambda data: "c", recorder(log, "c", "fit", "predict").steps, rounds=1)
    twice = Contestant(lambda data: "d", recorder(log, "d", "fit", "predict").steps, rounds=2)
    result = run(workload(log, c=once, d=twice), rounds=3, weigh=False)
    counted = {who: log.count(f"{who} fit") for who in "abcd"}
    assert counted == {"a": 4, "b": 4, "c": 1, "d": 3}  # all but c with a warm-up
    assert {who: steps["fit"].rounds for who, steps in result.timings.items()} == {"a": 3, "b": 3, "c": 1, "d": 2}
    assert result.once == ["c"]
    assert "- c is slow and was timed once, without a warm-up" in tables.table(result)


def test_growth_is_the_power_of_the_size() -> None:
    sizes = {"one": 1, "two": 2, "four": 4}
    timings = {step: Timing(3.0 * size**1.5, 1.0, 1) for step, size in sizes.items()}
    assert _growth(timings, sizes) == pytest.approx(1.5)
    steps = {step: recorder([], "a", step).steps[step] for step in sizes}
    task = Workload("toy", "A toy", lambda quick: "no data", {"a": Contestant(lambda d: None, steps)}, {}, sizes=sizes)
    assert "growth" in run(task, rounds=1, weigh=False).quality["a"]


def test_targets_name_the_fastest_peer_besides_the_yardstick() -> None:
    times = {"a": 2.0, "b": 4.0, "c": 1.0}
    timings = {who: {"fit": Timing(seconds, seconds, 3)} for who, seconds in times.items()}
    result = Result("toy", "A toy", "", "b", ["a"], {"fit": 1.0}, timings, {}, {}, False)
    assert result.fastest("fit") == "c"
    assert "| toy | a | fit | b | 0.50 | 1 | yes | c | 2.00 |" in tables.targets([result])


def test_targets_are_left_out_when_their_yardstick_is_absent() -> None:
    def gone(data: Any) -> Any:
        raise ImportError("no such library")

    full = workload([])
    assert run(full, rounds=1, weigh=False).targets == {"fit": 1e9}
    without = replace(full, peers={"gone": Contestant(gone, {}), **full.peers})
    result = run(without, rounds=1, weigh=False)
    assert (result.yardstick, result.targets) == ("b", {})


def test_results_survive_json_and_show_ratio_and_target() -> None:
    result = run(workload([]), rounds=1, weigh=False)
    result.machine = facts()
    result.timings["a"]["fit"] = Timing(0.5, 0.6, 3, 0.9, 12.0)
    result.timings["b"]["fit"] = Timing(1.0, 1.0, 3)
    again = Result.from_json(result.to_json())
    assert again == result
    assert again.ratio("a", "fit") == 0.5
    text = tables.page([again])
    assert "| toy | a | fit | b | 0.50 | 1e+09 | yes | b | 0.50 |" in text
    assert "| a | fit | 0.9000 | 0.5000 | 0.6000 | 0.50 | 12 | said a predict |" in text
    assert text.count("Machine: ") == 1


def test_peak_memory_sees_what_was_freed_again() -> None:
    answer, extra = peak_of(lambda: float(np.ones(20_000_000).sum()))
    assert answer == 20_000_000
    assert extra is None or 100 < extra < 400


def test_data_is_the_same_every_time() -> None:
    def tables_made() -> list[data.Rows]:
        return [
            data.gaussian_rows(50, 3, 2), data.coded_rows(50, 3, 4, 2), data.mixed_frame(50),
            data.interaction_rows(50, 10), data.collision_rows(50), data.odd_rows(500, 3), data.census_frame(50),
        ]  # fmt: skip

    for first, second in zip(tables_made(), tables_made(), strict=True):
        np.testing.assert_array_equal(first.y, second.y)
        assert str(first) == str(second)
    words = data.word_counts(50, 200, 10, 3)
    assert words.X.sum() == 500
    assert (words.X != data.word_counts(50, 200, 10, 3).X).nnz == 0


def test_the_adult_census_is_read_where_it_is_and_made_up_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTH_DATA", str(tmp_path))
    assert "made-up" in str(data.adult(quick=True))
    lines = [f"{30 + i}, {'Private' if i % 2 else ''}, {'>50K' if i % 3 else '<=50K'}" for i in range(9)]
    (tmp_path / "adult.csv").write_text("age, work, income\n" + "\n".join(lines))
    found = data.adult(quick=True)
    assert str(found) == "6 x 2 adult census rows, 3 new rows"
    assert set(found.X["work"].cat.categories) == {"?", "Private"}
    assert {*found.y, *found.new_y} == {0, 1}


def test_single_rows_are_asked_one_by_one() -> None:
    task = WORKLOADS["row-boosting"]
    served = {"tilth": task.ours["tilth"]}
    small = Workload("toy", "A toy", task.data, served, {}, task.quality, weigh=False)
    facts = run(small, quick=True, rounds=1).quality["tilth"]
    assert facts["off by"] == 0
    assert float(facts["array row us"]) > 0


def test_the_command_lists_refuses_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in WORKLOADS)
    assert __main__.main(["nothing"]) == 2
    assert "There is no workload 'nothing'" in capsys.readouterr().err
    assert __main__.main(["file-small", "--quick", "--rounds", "1", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "file-small.json").read_text())
    alone = found["timings"]["sklearn pickle"]["load"]
    assert alone["first"] > 0
    assert "## Save and load a naive Bayes" in (tmp_path / "README.md").read_text()
