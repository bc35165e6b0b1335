import os
import time

import pytest

from tilth.evaluate import pool
from tilth.evaluate.pool import Job, Pool


def double(x):
    return 2 * x


def fail(x):
    raise ValueError(f"not {x}")


def sleep(seconds):
    time.sleep(seconds)
    return seconds


def note_and_sleep(path):
    path.write_text(str(os.getpid()))
    time.sleep(60)


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


def test_a_job_that_hangs_is_stopped_and_the_others_finish():
    jobs = [Job("slow", sleep, (60,)), Job("quick", double, (4,)), Job("wrong", fail, (1,))]
    done = dict(Pool(1, timeout=3).run(jobs))
    assert "no result within 3 s" in done["slow"]
    assert done["quick"] == 8
    assert done["wrong"] == "ValueError: not 1"


def test_the_process_of_a_job_that_hangs_is_gone_before_another_begins(tmp_path):
    """Left alive, it would keep the interpreter from ending."""
    note = tmp_path / "pid"
    done = dict(Pool(1, timeout=3).run([Job("slow", note_and_sleep, (note,)), Job("quick", double, (4,))]))
    assert done["quick"] == 8
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_a_failure_here_is_raised():
    with pytest.raises(ValueError, match="not 1"):
        list(Pool(1).run([Job(0, fail, (1,))]))
