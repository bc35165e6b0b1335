import os
import threading

import pytest

from tilth.evaluate import pool
from tilth.evaluate.pool import Job, Pool


def double(x):
    return 2 * x


def fail(x):
    raise ValueError(f"not {x}")


def note_and_hang(path):
    path.write_text(str(os.getpid()))
    threading.Event().wait()


@pytest.fixture
def note(tmp_path, monkeypatch):
    """A file that a job writes before it hangs; no time passes until it is there, and then more than any limit."""
    path = tmp_path / "pid"
    monkeypatch.setattr(pool, "monotonic", lambda: 1e6 if path.exists() and path.read_text() else 0.0)
    return path


def test_jobs_here_and_elsewhere_give_the_same():
    jobs = [Job(i, double, (i,)) for i in range(5)]
    expected = {i: 2 * i for i in range(5)}
    assert dict(Pool(1).run(jobs)) == expected
    assert dict(Pool(2).run(jobs)) == expected


def test_idle_cores_are_used_when_much_is_left(monkeypatch):
    monkeypatch.setattr(pool, "WORTH_SECONDS", 0.0)
    monkeypatch.setattr(pool, "BUSY_CORES", 1e9)
    sent = []
    monkeypatch.setattr(Pool, "_elsewhere", lambda self, jobs, workers: sent.extend(jobs) or iter(()))
    done = dict(Pool().run([Job(i, double, (i,)) for i in range(4)]))
    assert done == {0: 0}
    assert len(sent) == 3


def test_what_cannot_travel_stays(monkeypatch):
    monkeypatch.setattr(pool, "WORTH_SECONDS", 0.0)
    monkeypatch.setattr(pool, "BUSY_CORES", 1e9)
    jobs = [Job(i, lambda f: f(), (lambda i=i: i,)) for i in range(3)]
    assert dict(Pool().run(jobs)) == {0: 0, 1: 1, 2: 2}


def test_a_job_that_hangs_is_stopped_and_the_others_finish(note):
    jobs = [Job("slow", note_and_hang, (note,)), Job("quick", double, (4,)), Job("wrong", fail, (1,))]
    done = dict(Pool(1, timeout=0.1).run(jobs))
    assert "no result within 0.1 s" in done["slow"]
    assert done["quick"] == 8
    assert done["wrong"] == "ValueError: not 1"


def test_the_process_of_a_job_that_hangs_is_gone_before_another_begins(note):
    """Left alive, it would keep the interpreter from ending."""
    done = dict(Pool(1, timeout=0.1).run([Job("slow", note_and_hang, (note,)), Job("quick", double, (4,))]))
    assert done["quick"] == 8
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_a_failure_here_is_raised():
    with pytest.raises(ValueError, match="not 1"):
        list(Pool(1).run([Job(0, fail, (1,))]))
