"""The compiled module as a whole: its stub, its threads, and life after fork."""

import ast
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilth
from tests.core.inputs import codes, labels, real, weights
from tests.core.test_sparse import random_csr
from tilth import _core


def test_the_stub_names_what_the_module_holds():
    stub = ast.parse(Path(tilth.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert set(functions) == public
    for name, node in functions.items():
        wanted = ", ".join(argument.arg for argument in node.args.args)
        signature = getattr(_core, name).__nb_signature__[0][0]
        found = ast.parse(re.sub(r"\\\d+", "None", signature) + ": ...").body[0].args.args
        assert ", ".join(argument.arg for argument in found) == wanted, name


def every_kernel():
    """Bytes of every answer, on inputs large enough to be threaded."""
    n, k = 40_000, 4
    X, y, w = real((n, 23), missing=0.01), labels(n, k), weights(n)
    table, offsets = codes(n, [2, 3, 30] * 3)
    csr = random_csr(n, 500, 8)
    integers = np.random.default_rng(0).integers(0, 90, (n, 5))
    low, high = _core.integer_facts(integers)
    flags, starts, _ = _core.integer_presence(integers, low, high)
    scores = np.zeros((n, k))
    _core.add_gaussian(X, np.zeros((k, 23)), np.ones((k, 23)), scores)
    _core.add_table(table, offsets, real((offsets[-1], k)), scores)
    answers = [
        *_core.column_facts(X),
        *_core.class_moments(X, y, k, w),
        _core.class_counts(table, y, k, offsets, w),
        *(low, high, flags, starts),
        _core.encode_integers(integers, low, starts, np.arange(len(flags), dtype=np.int32)),
        _core.csr_class_sums(*csr, y, k, 500, w),
        _core.csr_scores(*csr, real((500, k))),
        *_core.row_softmax(scores),
        _core.row_argmax(scores),
    ]
    return b"".join(answer.tobytes() for answer in answers)


@pytest.fixture
def unlimited():
    yield
    _core.set_threads(0)


@pytest.mark.usefixtures("unlimited")
def test_answers_have_the_same_bits_on_any_number_of_threads():
    _core.set_threads(0)
    wanted = every_kernel()
    for threads in (1, 2):
        _core.set_threads(threads)
        assert _core.max_threads() <= threads
        assert every_kernel() == wanted


def test_answers_have_the_same_bits_for_any_omp_setting():
    code = (
        "import hashlib, tests.core.test_module as m; from tilth import _core;"
        "print(_core.max_threads(), hashlib.sha256(m.every_kernel()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root)])
    seen = {}
    for threads in ("1", "5"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "PYTHONPATH": path}
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        seen[threads] = run.stdout.split()
    assert seen["1"][1] == seen["5"][1]
    assert seen["1"][0] == "1"


def test_a_thread_limit_is_not_negative():
    with pytest.raises(ValueError, match="set_threads needs 0"):
        _core.set_threads(-1)


def _report_threads(answers):
    answers.put((_core.max_threads(), len(every_kernel())))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_works_on_one_thread():
    whole = every_kernel()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_report_threads, args=(answers,))
    child.start()
    assert answers.get(timeout=60) == (1, len(whole))
    child.join(timeout=60)
    assert child.exitcode == 0
