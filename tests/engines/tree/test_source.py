"""Exported sources are run, and must answer as the model does."""

import ctypes
import math
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest

from tests.engines.tree.hand_made import KINDS, NAMES, random_table, random_trees, records
from tilth.data.kinds import nominal, numeric
from tilth.data.table import Column, Table
from tilth.engines.tree.additive import Additive
from tilth.engines.tree.nested import from_nested
from tilth.engines.tree.source import write

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
CLASSES = ("no", "yes", "may'be")


def ask_python(source, rows):
    space = {}
    exec(compile(source, "exported", "exec"), space)
    return [space["predict"](row) for row in rows]


def ask_sql(source, table, kinds, name="data"):
    """Run the query in SQLite; gives the whole result, in the order of the rows."""
    connection = sqlite3.connect(":memory:")
    connection.create_function("EXP", 1, math.exp, deterministic=True)
    quoted = ['"' + n.replace('"', '""') + '"' for n in table.names]
    types = ["REAL" if k.name == "numeric" else "" for k in kinds]
    columns = ", ".join(f"{n} {t}" for n, t in zip(quoted, types, strict=True))
    connection.execute(f'CREATE TABLE "{name}" ({columns})')
    rows = [tuple(r.values()) for r in records(table)]
    connection.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(quoted))})', rows)
    found = connection.execute(source)
    heads = [d[0] for d in found.description]
    return heads, found.fetchall()


def ask_c(source, folder, table, names, result, outputs=1):
    """Compile the functions without a warning and call them."""
    path, library = folder / "model.c", folder / "model.so"
    path.write_text(source, encoding="utf-8")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]
    subprocess.run([COMPILER, *strict, "-o", str(library), str(path), "-lm"], check=True, capture_output=True)
    predict = ctypes.CDLL(str(library)).predict
    answers = []
    for i in range(table.n_rows):
        row = (ctypes.c_double * len(names))(*(float(table[n].values[i]) for n in names))
        if result is None:
            out = (ctypes.c_double * outputs)()
            predict(row, out)
            answers.append(list(out))
        else:
            predict.restype = result
            answers.append(predict(row))
    return answers


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")


def models():
    """Name, model, whether numbers."""
    one = {"n_trees": 1, "n_leaves": 14}
    yield "tree of classes", Additive.mean(random_trees(1, n_classes=3, shared=False, **one), CLASSES)
    yield "tree that shares missing values out", Additive.mean(random_trees(2, n_classes=3, **one), CLASSES)
    yield "tree of numbers", Additive.mean(random_trees(3, shared=False, **one))
    yield "forest of classes", Additive.mean(random_trees(4, n_classes=3, n_trees=7), CLASSES)
    yield "forest of numbers", Additive.mean(random_trees(5, n_trees=7))
    yield "two numbers", Additive.mean(random_trees(6, n_trees=3, width=2))
    yield "weighed trees", Additive(random_trees(7, n_classes=3, n_trees=4), np.zeros(3), np.array([1.0, 0.5, 2, 0.25]),
                                    "identity", CLASSES)  # fmt: skip
    yield "log-odds", Additive(random_trees(8, n_trees=9, shared=False), np.array([-0.3]), 0.1, "logistic", (0, 1))
    yield "softmax", Additive(random_trees(9, n_trees=9, outputs=3), np.array([0.1, 0, 0]), 0.3, "softmax", (3, 5, 7))
    yield "rates", Additive(random_trees(10, n_trees=5), np.array([0.4]), 0.1, "exp")
    yield "one leaf", Additive.mean(from_nested({"class": "yes"}, NAMES, KINDS, CLASSES), CLASSES)


MODELS = dict(models())


def wanted_from(model, table):
    answers = model.answers(table)
    if model.classes:
        return [model.classes[i] for i in answers.argmax(axis=1)]
    return answers[:, 0] if answers.shape[1] == 1 else answers


def agree(found, wanted, is_class):
    if is_class:
        assert found == wanted
    else:
        np.testing.assert_allclose(np.asarray(found, dtype=float), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_python_source_answers_as_the_model(name):
    model, table = MODELS[name], random_table(80)
    agree(ask_python(write(model, "python"), records(table)), wanted_from(model, table), bool(model.classes))


@pytest.mark.parametrize("name", MODELS)
def test_sql_answers_as_the_model(name):
    model, table = MODELS[name], random_table(80)
    heads, rows = ask_sql(write(model, "sql"), table, KINDS)
    places = [i for i, h in enumerate(heads) if h.startswith("prediction")]
    found = [row[places[0]] if len(places) == 1 else [row[i] for i in places] for row in rows]
    agree(found, wanted_from(model, table), bool(model.classes))
    assert heads[: len(NAMES)] == NAMES


@needs_compiler
@pytest.mark.parametrize("name", MODELS)
def test_c_answers_as_the_model(name, tmp_path):
    model, table = MODELS[name], random_table(80)
    order = [4, 0, 2, 1, 3]
    outputs = model.trees.n_outputs
    result = ctypes.c_int if model.classes else ctypes.c_double if outputs == 1 else None
    found = ask_c(write(model, "c", order), tmp_path, table, [NAMES[j] for j in order], result, outputs)
    found = [model.classes[i] for i in found] if model.classes else found
    agree(found, wanted_from(model, table), bool(model.classes))


def test_single_trees_are_exact():
    model, table = MODELS["tree of numbers"], random_table(200)
    assert ask_python(write(model, "python"), records(table)) == model.answers(table)[:, 0].tolist()


def test_probabilities_of_the_python_source():
    for name in ("forest of classes", "log-odds", "softmax"):
        model, table = MODELS[name], random_table(20)
        space = {}
        exec(write(model, "python"), space)
        found = [space["predict_proba"](r) for r in records(table)]
        np.testing.assert_allclose(found, model.answers(table), rtol=1e-12)


def deep_tree(depth):
    tree = {"value": 0.0}
    for i in reversed(range(depth)):
        tree = {"column": "x", "threshold": i, "yes": {"value": i}, "no": tree}
    return Additive.mean(from_nested(tree, ["x"], [numeric]))


def test_deep_trees_are_cut_into_functions(tmp_path):
    model = deep_tree(300)
    x = np.array([-1.0, 0.5, 120.5, 298.5, 500.0, np.nan])
    table = Table([Column("x", numeric, x)], len(x))
    wanted = model.answers(table)[:, 0].tolist()
    assert ask_python(write(model, "python"), [{"x": v} for v in x]) == wanted
    assert [r[-1] for r in ask_sql(write(model, "sql"), table, [numeric])[1]] == wanted
    if COMPILER:
        assert ask_c(write(model, "c"), tmp_path, table, ["x"], ctypes.c_double) == wanted
    write(deep_tree(1000), "sql")


HOSTILE = [
    "a'b", 'a"b', "'; DROP TABLE data; --", "*/ int main(){ } /*", "??/\n", "line\nbreak", "\\", "\\'", "class", "'''",
    '"""', "{x}", "%s", "-- ", "\u2028", "naïve ☃", "", "\t", "None", "\x1b", "score_0", "prediction",
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_hostile_names_and_levels_stay_names_and_levels(place, tmp_path):
    names = [HOSTILE[place] + "!", HOSTILE[place]]
    levels = HOSTILE[place:] + HOSTILE[:place]
    kinds = [numeric, nominal(*levels)]
    classes = (levels[0], levels[1], levels[2])
    tree = {
        "column": names[0],
        "threshold": 0.5,
        "yes": {"class": classes[0]},
        "no": {"column": names[1], "levels": levels[::2], "yes": {"class": classes[1]}, "no": {"class": classes[2]}},
        "missing": "no",
    }
    single = Additive.mean(from_nested(tree, names, kinds, classes), classes)
    forest = Additive.mean(from_nested([tree, tree, {"class": classes[1]}], names, kinds, classes), classes)
    n = len(levels) + 2
    table = Table(
        [Column(names[0], numeric, np.array([0.0, np.nan, *np.ones(n - 2)])),
         Column(names[1], kinds[1], np.array([0, -1, *range(n - 2)], dtype=np.int32))], n,
    )  # fmt: skip
    for model in (single, forest):
        wanted = wanted_from(model, table)
        assert ask_python(write(model, "python"), records(table)) == wanted
        heads, rows = ask_sql(write(model, "sql", table="my data"), table, kinds, "my data")
        at = next(i for i, h in enumerate(heads) if h.startswith("prediction") and h not in names)
        assert [r[at] for r in rows] == wanted
    if COMPILER:
        found = ask_c(write(single, "c"), tmp_path, table, names, ctypes.c_int)
        assert [classes[i] for i in found] == wanted_from(single, table)


def test_unknown_levels_count_as_missing():
    tree = {"column": "c", "branches": {"a": {"value": 1}, "b": {"value": 2}}, "missing": {"value": 3}}
    model = Additive.mean(from_nested(tree, ["c"], [nominal("a", "b")]))
    assert ask_python(write(model, "python"), [{"c": v} for v in ("a", "b", "zzz", None, float("nan"))]) == [
        1,
        2,
        3,
        3,
        3,
    ]
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (c)")
    connection.executemany("INSERT INTO data VALUES (?)", [("a",), ("b",), ("zzz",), (None,)])
    assert [r[-1] for r in connection.execute(write(model, "sql"))] == [1, 2, 3, 3]


def test_levels_that_are_numbers_or_truth_values():
    kinds = [nominal(1, 2, 30), nominal(False, True), nominal(0.5, 1.5)]
    tree = {"column": "i", "branches": {1: {"value": 1}, 2: {"column": "b", "branches": {"False": {"value": 2}, "True":
            {"value": 3}}}, 30: {"column": "f", "levels": [1.5], "yes": {"value": 4}, "no": {"value": 5}}}}  # fmt: skip
    model = Additive.mean(from_nested(tree, ["i", "b", "f"], kinds))
    codes = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 0, 1], [2, 0, 0]], dtype=np.int32)
    columns = [Column(n, k, codes[:, j]) for j, (n, k) in enumerate(zip(["i", "b", "f"], kinds, strict=True))]
    table = Table(columns, 5)
    assert ask_python(write(model, "python"), records(table)) == [1, 2, 3, 4, 5]
    assert ask_python(write(model, "python"), [{"i": 2.0, "b": np.True_, "f": "x"}, {"i": "1", "b": 0, "f": 0}]) == [
        3,
        1,
    ]
    assert [r[-1] for r in ask_sql(write(model, "sql"), table, kinds)[1]] == [1, 2, 3, 4, 5]


def test_what_cannot_be_written_is_refused():
    model = MODELS["tree of numbers"]
    with pytest.raises(ValueError, match="language must be one of 'python', 'sql', 'c'; got 'cobol'"):
        write(model, "cobol")
    nul = Additive.mean(from_nested({"value": 1}, ["a\0b"], [numeric]))
    with pytest.raises(ValueError, match="NUL"):
        write(nul, "sql")
