"""Time and patience: clocks are replaced, nothing here measures."""

import contextlib
import io
import signal

import pytest

import tilth.lifecycle.run as package
from tilth.lifecycle.run import Run, run
from tilth.lifecycle.run.clock import Clock
from tilth.lifecycle.run.live import Live
from tilth.lifecycle.run.stages import Stage, all_stages

pytestmark = pytest.mark.usefixtures("few_pictures")


class Hand:
    """A clock that is moved by hand."""

    def __init__(self):
        self.at = 0.0

    def __call__(self):
        return self.at


def test_a_clock_keeps_time_for_the_pages_and_for_fits_that_are_owed():
    hand = Hand()
    clock = Clock(100.0, now=hand)
    assert clock.left == 94.0
    clock.owed = 10.0
    assert clock.left == 84.0
    assert clock.until(0.5) == 50.0
    hand.at = 60.0
    assert clock.until(0.5) == -10.0
    assert clock.left == 24.0
    assert Clock(10.0, now=Hand()).left == 7.5
    hand.at = 3.0
    assert Clock(10.0, now=hand, began=1.0).used == 2.0
    assert Clock(None).left == float("inf")


def test_stages_are_timed_even_when_they_fail():
    hand = Hand()
    clock = Clock(None, now=hand)

    def fails():
        with clock.stage("a"):
            hand.at += 2.0
            raise ValueError

    with pytest.raises(ValueError):
        fails()
    assert clock.stages == {"a": 2.0}


@pytest.fixture
def stages(monkeypatch):
    """Some of the stages; each can be replaced."""
    known = {s.name: s for s in all_stages()}

    def use(**replaced):
        made = [Stage(n, replaced.get(n, s.make), s.needed, s.least) for n, s in known.items()]
        monkeypatch.setattr(package, "all_stages", lambda: tuple(made))

    return use


def test_ctrl_c_keeps_what_is_done_and_still_gives_a_model_and_a_report(stages, quick, tmp_path):
    def interrupted(run: Run):
        raise KeyboardInterrupt

    stages(tuning=interrupted)
    found = run("iris", out=tmp_path, **quick)
    assert found.interrupted
    assert found.model is not None
    assert found.skipped["learning"] == "the run was interrupted"
    assert found.files["report.html"].exists()
    assert "interrupted" in found.sections()[0].text


def test_ctrl_c_that_a_stage_has_dealt_with_itself_is_heard_all_the_same(stages, quick):
    def swallows(run: Run):
        with contextlib.suppress(KeyboardInterrupt):  # as a search does, which keeps its tries
            signal.raise_signal(signal.SIGINT)
        assert run.clock.left == 0.0
        return []

    before = signal.getsignal(signal.SIGINT)
    stages(candidates=swallows)
    found = run("iris", **quick)
    assert found.interrupted
    assert found.model is not None
    assert "tuning" in found.skipped
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_twice_ends_at_once(stages, quick):
    def interrupted(run: Run):
        raise KeyboardInterrupt

    stages(tuning=interrupted, choice=interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("iris", **quick)


def test_ctrl_c_before_there_is_anything_to_keep_ends_at_once(stages, quick):
    def interrupted(run: Run):
        raise KeyboardInterrupt

    stages(data=interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("iris", **quick)


def test_an_optional_stage_that_fails_costs_itself_only(stages, quick):
    def broken(run: Run):
        raise RuntimeError("out of luck")

    stages(explanation=broken)
    found = run("iris", **quick)
    assert found.failures == {"explanation": "RuntimeError: out of luck"}
    assert found.model is not None
    assert "out of luck" in str(found)


def test_a_needed_stage_that_fails_is_told(stages, quick):
    def broken(run: Run):
        raise RuntimeError("out of luck")

    stages(choice=broken)
    with pytest.raises(RuntimeError, match="out of luck"):
        run("iris", **quick)


def test_stages_without_time_are_left_out_and_named(stages, quick, monkeypatch):
    hand = Hand()
    monkeypatch.setattr(package, "Clock", lambda budget, **_: Clock(budget, now=hand))
    known = {s.name: s for s in all_stages()}

    def slow(run: Run):
        hand.at = 59.0
        return known["choice"].make(run)

    stages(choice=slow)
    found = run("iris", **{**quick, "budget": "1m"})
    assert found.model is not None
    assert found.skipped["explanation"] == "no time was left"
    assert "no time was left" in found.appendix()[-1].text


def test_a_run_that_was_broken_off_goes_on(stages, quick, tmp_path):
    def interrupted(run: Run):
        raise KeyboardInterrupt

    stages(tuning=interrupted)
    run("iris", out=tmp_path, **quick)
    stages()
    found = run("iris", resume=tmp_path, **quick)
    assert not found.interrupted
    whole = run("iris", **quick)
    assert found.scores.to_dict()["scores"] == whole.scores.to_dict()["scores"]


def test_a_line_per_stage_and_no_more(quick):
    stream = io.StringIO()
    live = Live(Clock(None), stream)
    with live:
        live.begin("data")
        live.say("data", "a\nb" + "x" * 400)
    (line,) = stream.getvalue().splitlines()
    assert len(line) <= 200
    assert "a b" in line


def test_a_run_tells_at_most_twenty_lines(quick, capsys):
    run("titanic", sensitive="sex", progress=True, **quick)
    told = capsys.readouterr().err.splitlines()
    assert 10 <= len(told) <= 20
    assert any("Zero-R" in line for line in told)


def test_a_table_of_many_rows_is_chosen_by_one_holdout_and_every_stage_copes(monkeypatch, quick):
    monkeypatch.setattr("tilth.lifecycle.run.division.MANY_ROWS", 200)
    found = run("titanic", **quick)
    assert len(found.division.outer) == 1
    assert found.failures == {}
    assert found.curve is not None
