from __future__ import annotations

import io
import subprocess
import sys
import threading

import pytest

from tilth import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_listeners_nothing_happens() -> None:
    with progress.task("quiet", total=3) as first, progress.task("quiet too") as second:
        first.advance()
        second.advance(2)
    assert first is second  # one shared object that does nothing


def test_events_of_a_task() -> None:
    events: list[progress.Event] = []
    with progress.listen(events.append), progress.task("work", total=3) as work:
        work.advance()
        work.advance(2)
    assert [(e["state"], e["done"], e["total"]) for e in events] == [
        ("start", 0, 3),
        ("advance", 1, 3),
        ("advance", 3, 3),
        ("end", 3, 3),
    ]
    seconds = [event["seconds"] for event in events]
    assert seconds == sorted(seconds)


def test_nested_tasks_and_several_listeners() -> None:
    first: list[progress.Event] = []
    second: list[progress.Event] = []
    with progress.listen(first.append):
        with progress.task("outer"), progress.listen(second.append), progress.task("inner"):
            pass
        with progress.task("next"):
            pass
    assert [(e["title"], e["depth"]) for e in first if e["state"] == "start"] == [
        ("outer", 0),
        ("inner", 1),
        ("next", 0),
    ]
    assert {event["title"] for event in second} == {"inner"}


def test_a_failed_task_says_so() -> None:
    events: list[progress.Event] = []
    with pytest.raises(ValueError, match="bad"), progress.listen(events.append), progress.task("work"):
        raise ValueError("bad")
    assert events[-1]["state"] == "failed"
    with progress.task("after") as work:
        work.advance()
    assert len(events) == 2


def test_threads_hear_their_own_work_only() -> None:
    heard: dict[str, set[str]] = {}
    both = threading.Barrier(2)

    def work(name: str) -> None:
        events: list[progress.Event] = []
        with progress.listen(events.append):
            both.wait(timeout=30)
            with progress.task(name):
                both.wait(timeout=30)
        heard[name] = {event["title"] for event in events}

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {"a": {"a"}, "b": {"b"}}


def test_a_task_may_be_advanced_from_many_threads() -> None:
    done: list[float] = []
    with (
        progress.listen(lambda event: done.append(event["done"])),
        progress.task("shared", total=400) as work,
    ):
        threads = [threading.Thread(target=lambda: [work.advance() for _ in range(100)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert done == [*range(401), 400]


@pytest.mark.parametrize("total", [1, 7, 10, 1000])
def test_plain_lines_are_few(total: int) -> None:
    out = io.StringIO()
    with progress.show(out, gap=0), progress.task("Counting", total=total) as work:
        for _ in range(total):
            work.advance()
    lines = out.getvalue().splitlines()
    assert 1 <= len(lines) <= 10
    assert lines[-1].startswith(f"Counting: {total} of {total}, ")
    assert lines[-1].endswith(" s, finished")
    assert all(line.endswith("left") for line in lines[:-1])


def test_plain_lines_without_a_total_are_few() -> None:
    out = io.StringIO()
    with progress.show(out, gap=0), progress.task("Counting") as work:
        for _ in range(5000):
            work.advance()
    lines = out.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines[:3]] == [f"Counting: {n} done" for n in (1, 3, 9)]
    assert len(lines) <= 10
    assert lines[-1].startswith("Counting: 5000 done")


def test_quick_inner_tasks_are_not_shown_and_failures_are() -> None:
    def fail_half_way() -> None:
        with progress.task("outer", total=100) as outer:
            for _ in range(50):
                with progress.task("inner", total=1) as inner:
                    inner.advance()
                outer.advance()
            raise RuntimeError("half way")

    out = io.StringIO()
    with progress.show(out, gap=3600), pytest.raises(RuntimeError, match="half way"):
        fail_half_way()
    lines = out.getvalue().splitlines()
    assert not any("inner" in line for line in lines)
    assert lines[-1].startswith("outer: 50 of 100")
    assert lines[-1].endswith("failed")


def test_a_task_of_nothing_is_fine() -> None:
    out = io.StringIO()
    with progress.show(out, gap=0), progress.task("nothing", total=0):
        pass
    assert out.getvalue().startswith("nothing: 0 of 0")


def test_show_inside_show_says_it_once() -> None:
    out = io.StringIO()
    with progress.show(out), progress.show(out), progress.task("once", total=1):
        pass
    assert out.getvalue().count("once") == 1


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    out = Terminal()
    with progress.show(out), progress.task("Growing [trees]", total=2) as work:
        for _ in range(2):
            with progress.task("inner"):
                pass
            work.advance()
    assert "Growing [trees]" in out.getvalue()
    assert "100%" in out.getvalue()


def test_a_terminal_without_rich_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    out = Terminal()
    with progress.show(out, gap=0), progress.task("plain", total=1) as work:
        work.advance()
    assert out.getvalue().startswith("plain: 1 of 1")


def test_import_needs_the_standard_library_only() -> None:
    code = "import sys, tilth.progress; print(sorted({'rich', 'numpy', 'IPython'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
