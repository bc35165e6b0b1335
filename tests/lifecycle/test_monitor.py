"""Monitoring: planted changes are found, chance alone raises no more alarms than stated, chunks are as the whole."""

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tilth
from tilth.data.datasets import load as dataset
from tilth.errors import ModelFileError, SchemaError
from tilth.lifecycle.monitor import CODES, Monitoring, Reference, Watcher, monitor
from tilth.lifecycle.monitor.drift import beyond_range, more_unlisted, neighbours_merged, same_share, same_shares
from tilth.lifecycle.monitor.reference import SHARED_BY, outer_range, slices
from tilth.lifecycle.save import load, save

KINDS = {"city": "nominal", "street": "nominal", "grade": ["low", "mid", "high"], "rooms": "numeric"}


def rows(n: int, seed: Any = 0) -> pd.DataFrame:
    """Columns of every kind: smooth, skewed, tied, with gaps, a few levels, very many levels."""
    rng = np.random.default_rng(seed)
    weights = np.arange(1, 801.0) ** -1.1
    frame = pd.DataFrame(
        {
            "size": rng.normal(50, 10, n),
            "pay": rng.exponential(3, n),
            "rooms": rng.integers(1, 6, n).astype(float),
            "score": rng.uniform(size=n),
            "city": rng.choice(["rome", "oslo", "bern", "kiel"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "street": [f"s{i}" for i in rng.choice(800, n, p=weights / weights.sum())],
            "grade": rng.choice(["low", "mid", "high"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "score"] = np.nan
    return frame


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference.of(rows(2000), kinds=KINDS)


# ------------------------------------------------------------------------------------------------- the reference


def test_what_is_remembered(reference):
    size, city, score = reference["size"], reference["city"], reference["score"]
    frame = rows(2000)
    assert (size.kind, len(size.cuts), size.counts) == ("numeric", 9, (200,) * 10)
    assert (
        np.searchsorted(size.cuts, np.sort(frame["size"]), side="left").tolist() == np.repeat(range(10), 200).tolist()
    )
    assert dict(zip(city.levels, city.counts, strict=True)) == frame["city"].value_counts().to_dict()
    assert score.n_missing == frame["score"].isna().sum()
    assert size.low <= frame["size"].min() < frame["size"].max() <= size.high
    assert reference["grade"].kind == "ordinal"


def test_no_cell_that_fewer_than_five_share_is_in_it():
    frame = rows(600, 4)
    frame["who"] = [f"person {i}" for i in range(600)]
    frame["odd"] = np.where(np.arange(600) < 4, "only four have it", "common")
    told = json.dumps(Reference.of(frame, kinds=KINDS | {"odd": "nominal"}).to_dict())
    assert "person" not in told
    assert "only four" not in told
    numbers = set()

    def collect(node: Any) -> None:
        if isinstance(node, float):
            numbers.add(node)
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            collect(child)

    collect(json.loads(told))
    for name in ("size", "pay", "score"):
        assert not numbers & set(frame[name].dropna())
    levels = json.loads(told)["columns"][5]["levels"]
    assert frame["street"].value_counts()[levels].min() >= SHARED_BY


def test_slices_hold_enough_rows_and_count_truly():
    rng = np.random.default_rng(1)
    for n in (1, 4, 9, 10, 23, 200):
        for values in (
            rng.normal(size=n),
            rng.integers(0, 3, n).astype(float),
            np.zeros(n),
            rng.normal(size=n) * 1e300,
        ):
            present = np.sort(values)
            cuts, counts = slices(present)
            assert sum(counts) == n
            assert len(counts) == 1 or min(counts) >= SHARED_BY
            found = np.bincount(np.searchsorted(np.array(cuts), present, side="left"), minlength=len(counts))
            assert found.tolist() == list(counts)


@pytest.mark.parametrize("values", [[1.0, 1.0], [-1e308, 1e308], [5e-324, 1e-323], [1e15, 1e15 + 1], [0.1, 0.2, 0.3]])
def test_the_range_holds_all_values(values):
    low, high = outer_range(np.array(values))
    assert low <= min(values) <= max(values) <= high


def test_ends_are_exact_where_enough_rows_share_them():
    present = np.sort(np.r_[np.zeros(5), np.linspace(1, 97.3, 30)])
    assert outer_range(present) == (0.0, 98.0)


@pytest.mark.covers("LC-05")
def test_json_and_back(reference):
    told = json.loads(json.dumps(reference.to_dict(), allow_nan=False))
    assert Reference.from_dict(told) == reference
    assert len(json.dumps(told)) < 6000


def test_ten_thousand_columns_stay_small():
    wide = {f"c{j}": [f"level {i % 20} of it" for i in range(200)] for j in range(2000)}
    told = json.dumps(Reference.of(wide).to_dict())
    assert len(told) < 2000 * 1200


def mutants(told: dict[str, Any]) -> Any:
    """Every node of the data replaced by something odd."""
    junk = [None, -1, 1.5, "x", [], {}, [None], True, 10**30, [3.0, 1.0], ["a", "a"]]

    def paths(node: Any, path: tuple[Any, ...] = ()) -> Any:
        for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            yield (*path, key)
            yield from paths(child, (*path, key))

    for i, path in enumerate(paths(told)):
        changed = copy.deepcopy(told)
        parent: Any = changed
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = junk[i % len(junk)]
        yield changed
        if isinstance(parent, dict):
            del parent[path[-1]]
            yield changed


def test_damaged_references_are_refused_or_sound(reference):
    few = {**reference.to_dict(), "columns": reference.to_dict()["columns"][-3:]}
    refused = 0
    for mutant in mutants(few):
        try:
            made = Reference.from_dict(mutant)
        except ValueError:
            with pytest.raises(ValueError, match=r"Reference\.from_dict"):
                Reference.from_dict(mutant)
            refused += 1
        else:
            assert monitor(made, rows(50, 9)).verdict()
    assert refused > 20
    for odd in (None, [], "x", {}, {"schema": "tilth.reference/1"}):
        with pytest.raises(ValueError, match=r"Reference\.from_dict"):
            Reference.from_dict(odd)


def test_bad_tables_are_refused():
    from scipy.sparse import csr_matrix

    with pytest.raises(ValueError, match="needs rows and columns"):
        Reference.of(pd.DataFrame({"a": []}))
    with pytest.raises(SchemaError, match="sparse"):
        Reference.of(csr_matrix(np.eye(3)))
    with pytest.raises(ValueError, match="each of 3 rows"):
        Reference.of({"a": [1, 2, 3]}, target=[1, 2])
    with pytest.raises(SchemaError, match="lacks: b"):
        Reference.of({"a": [1, 2]}, schema=tilth.infer({"a": [1, 2], "b": [1, 2]}))


# ------------------------------------------------------------------------------------------------------- the tests


def test_two_bins_agree_with_fisher():
    for before, m, after, n in [(3, 50, 9, 40), (0, 100, 2, 10), (20, 60, 20, 60), (5, 5000, 3, 12)]:
        greater = stats.fisher_exact([[after, n - after], [before, m - before]], "greater").pvalue
        less = stats.fisher_exact([[after, n - after], [before, m - before]], "less").pvalue
        assert same_share(before, m, after, n) == pytest.approx(min(1, 2 * min(greater, less)))


def test_many_bins_agree_with_the_chi_square_of_scipy():
    before, after = np.array([30.0, 40.0, 50.0, 80.0]), np.array([25.0, 20.0, 15.0, 10.0])
    peer = stats.chi2_contingency([before, after], correction=False)
    change = same_shares(before, after)
    assert change.p_value == pytest.approx(peer.pvalue)
    assert change.dof == 3


def test_the_index_by_chance_is_its_mean_under_no_change():
    rng = np.random.default_rng(3)
    changes = [
        same_shares(rng.multinomial(900, np.full(8, 1 / 8)) * 1.0, rng.multinomial(300, np.full(8, 1 / 8)) * 1.0)
        for _ in range(400)
    ]
    assert np.mean([c.psi for c in changes]) == pytest.approx(changes[0].by_chance, rel=0.08)


def test_what_is_called_detectable_is_found_four_times_in_five():
    rng = np.random.default_rng(5)
    p = np.full(6, 1 / 6)
    level = 0.001
    least = same_shares(p * 3000, p * 400).detectable(level)
    tilt = np.linspace(-1, 1, 6)
    scale = np.sqrt(least / (p * tilt**2).sum())  # PSI is about sum (q - p)^2 / p
    q = p * (1 + scale * tilt)
    found = [
        same_shares(rng.multinomial(3000, p) * 1.0, rng.multinomial(400, q / q.sum()) * 1.0).p_value < level
        for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)


def test_values_beyond_the_range_by_chance():
    # One row of ten new ones above nine old ones: the top place is a new row's with chance 10 / 19, on either side.
    assert beyond_range(0, 1, 9, 10) == 1.0
    assert beyond_range(0, 3, 90, 10) == pytest.approx(2 * 10 * 9 * 8 / (100 * 99 * 98))
    assert beyond_range(0, 0, 90, 10) == 1.0
    assert more_unlisted(0, 90, 3, 10) == pytest.approx(10 * 9 * 8 / (100 * 99 * 98))


def test_merging_keeps_every_row():
    rng = np.random.default_rng(0)
    for n in (1, 7, 30, 500):
        before, after = rng.multinomial(400, np.full(10, 0.1)) * 1.0, rng.multinomial(n, np.full(10, 0.1)) * 1.0
        a, b = neighbours_merged(before, after)
        assert (a.sum(), b.sum()) == (400, n)
        assert len(a) >= 2


@pytest.mark.covers("LC-05")
@pytest.mark.parametrize(("m", "n"), [(1500, 800), (1500, 40), (400, 1200)])
def test_false_alarms_are_no_more_than_stated(m, n):
    alarms = 0
    for seed in range(100):
        frame, new = rows(m, [seed, 1]), rows(n, [seed, 2])
        found = monitor(Reference.of(frame, kinds=KINDS), new, level=0.1)
        alarms += any(f.code in ("M201", "M202", "M203", "M204") for f in found.findings)
    # At most 10 are expected; 18 or more have a chance of one in a hundred even so.
    assert alarms < 18


def test_levels_that_are_common_by_luck_raise_no_alarm():
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        before, now = ({"town": [f"t{i}" for i in rng.integers(0, 150, 900)]} for _ in range(2))
        alarms += bool(monitor(Reference.of(before, kinds={"town": "nominal"}), now, level=0.1).changed)
    assert alarms < 14


def test_tests_of_smooth_columns_reject_about_as_often_as_stated():
    rejected = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        found = monitor(Reference.of({"a": rng.normal(size=800)}), {"a": rng.normal(size=300)}, level=0.99)
        rejected.append(same_shares(np.array(found.reference["a"].counts) * 1.0, found.new_counts["a"] * 1.0).p_value)
    assert np.mean(np.array(rejected) < 0.1) == pytest.approx(0.1, abs=0.04)


# ------------------------------------------------------------------------------------------------- planted changes


def codes(found: Monitoring, column: str) -> set[str]:
    return {f.code for f in found.findings if column in f.columns and f.severity != "info"}


@pytest.mark.covers("LC-05")
def test_planted_changes_are_found_and_nothing_else(reference):
    new = rows(500, 7)
    new["size"] += 8
    new["city"] = np.where(np.arange(500) % 10 == 0, "lima", new["city"])
    new.loc[np.arange(500) % 3 == 0, "grade"] = None
    new["pay"] = np.where(np.arange(500) % 25 == 0, 500.0, new["pay"])
    found = monitor(reference, new)
    assert codes(found, "size") == {"M201"}
    assert codes(found, "city") == {"M201", "M204"}
    assert codes(found, "grade") == {"M202"}
    assert codes(found, "pay") == {"M203"}
    assert sorted(found.changed) == ["city", "grade", "pay", "size"]
    assert found["M204"][0].evidence["levels"] == {"lima": 50}
    assert "never seen" in found["M204"][0].title
    assert found.light == "bad"
    assert found.verdict().startswith("4 of 7 columns have changed")


@pytest.mark.covers("LC-05")
def test_lost_and_new_columns(reference):
    new = rows(400, 8).drop(columns="city").assign(extra=1)
    found = monitor(reference, new)
    assert [f.columns for f in found["M101"]] == [("city",)]
    assert [f.severity for f in found["M102"]] == ["info"]
    assert found.of("serious") == found["M101"]
    assert "cannot answer" in found.verdict()
    assert found.frame().set_index("column").loc["city", "state"] == "absent"


def test_few_rows_are_too_few_to_tell(reference):
    found = monitor(reference, rows(12, 3))
    assert set(found.undecided) >= {"size", "pay", "city"}
    assert "too few to tell" in found.verdict()
    assert found["M301"][0].severity == "info"
    sure = monitor(reference, rows(1000, 3))
    assert sure.undecided == []
    assert sure.verdict().startswith("No change seen in 7 columns")


def test_few_rows_can_still_be_alarming(reference):
    new = rows(12, 3)
    new["size"] = 500.0
    assert codes(monitor(reference, new), "size") == {"M203"}
    new["size"] = 80.0
    assert codes(monitor(reference, pd.concat([new, new])), "size") == {"M201"}


def test_a_small_change_of_many_rows_is_only_a_note(reference):
    big = Reference.of({"a": np.random.default_rng(0).normal(size=50_000)})
    found = monitor(big, {"a": np.random.default_rng(1).normal(0.05, 1, 50_000)})
    assert [(f.code, f.severity) for f in found.findings] == [("M201", "info")]
    assert found.changed == []


def test_words_in_a_column_of_numbers(reference):
    new = rows(200, 5).astype({"size": object})
    new.loc[:99, "size"] = "large"
    found = monitor(reference, new)
    assert "M103" in codes(found, "size")
    assert found["M103"][0].evidence["cells"] == 100
    new["size"] = pd.Timestamp("2020-01-01")
    assert monitor(reference, new)["M103"][0].evidence["cells"] == 200


def test_numbers_written_as_text_and_levels_as_numbers_are_the_same(reference):
    frame = rows(300, 5)
    plain = monitor(reference, frame)
    texts = monitor(reference, frame.assign(size=frame["size"].map(repr), rooms=frame["rooms"].map(lambda v: f"{v:g}")))
    assert texts.to_dict() == plain.to_dict()
    known = Reference.of({"zip": [101, 102, 103] * 20}, kinds={"zip": "nominal"})
    assert monitor(known, {"zip": ["101", "103"] * 10})["M204"] == []


def test_infinite_numbers_count_as_missing(reference):
    new = rows(300, 5)
    new.loc[:149, "size"] = np.inf
    found = monitor(reference, new)
    assert "M202" in codes(found, "size")


def test_dates_are_told_but_raise_no_alarm():
    days = pd.date_range("2020-01-01", periods=60)
    known = Reference.of({"when": days, "x": np.arange(60.0)}, kinds={"when": "date"})
    found = monitor(known, {"when": days + pd.Timedelta(days=365), "x": np.arange(60.0)})
    assert [(f.code, f.severity) for f in found.findings if "when" in f.columns] == [("M203", "info")]
    assert "2020-01-01 to 2020-02-29" in found.findings[0].title


def test_the_target_is_watched_where_it_is_given():
    frame = rows(800, 1)
    known = Reference.of(frame, kinds={k: v for k, v in KINDS.items() if k != "city"}, target="city")
    assert known["city"].role == "target"
    assert monitor(known, rows(400, 2).drop(columns="city")).of("serious") == []
    moved = rows(400, 2).assign(city="kiel")
    assert monitor(known, moved)["M201"][0].title.startswith("the target city has changed")


# ----------------------------------------------------------------------------------------------------- the watcher


@pytest.mark.covers("LC-05")
@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_chunks_are_as_the_whole(reference, size):
    new = rows(260, 6).assign(extra=1)
    new.loc[100:, "city"] = [f"town {i * 7 % 45}" for i in range(160)]
    watcher = Watcher(reference)
    for start in range(0, len(new), size):
        watcher.add(new[start : start + size])
    assert watcher.result().to_dict() == monitor(reference, new).to_dict()
    assert watcher.n_rows == 260


def test_new_levels_of_any_form_are_remembered_as_they_come():
    known = Reference.of({"zip": [1, 2, 3] * 30}, kinds={"zip": "nominal"})
    zips = (np.arange(90) * 37 % 61 + 100).astype(np.int64)
    for form in (zips, pd.Categorical(zips), zips.astype(str)):
        watcher = Watcher(known)
        frame = pd.DataFrame({"zip": form})
        for start in range(0, 90, 8):
            watcher.add(frame[start : start + 8])
        found = watcher.result()
        assert found.to_dict() == monitor(known, frame).to_dict()
        assert list(found["M204"][0].evidence["levels"]) == [str(z) for z in zips[:20]]


def test_a_chunk_that_cannot_be_read_changes_nothing(reference):
    watcher = Watcher(reference).add(rows(50, 1))
    before = watcher.result().to_dict()
    twice = pd.DataFrame([[1.0, 2.0]], columns=["size", "size"])
    with pytest.raises(SchemaError, match="more than once"):
        watcher.add(twice)
    with pytest.raises(TypeError):
        watcher.add("rows")
    assert watcher.result().to_dict() == before


def test_no_rows_at_all(reference):
    assert "no new rows" in Watcher(reference).result().verdict()
    assert Watcher(reference).add(rows(10)[:0]).n_rows == 0


def test_rows_without_names_are_taken_in_order():
    X = np.random.default_rng(0).normal(size=(300, 3))
    known = Reference.of(X)
    assert monitor(known, X[:200]).changed == []
    assert monitor(known, X[:200] + np.array([0, 5, 0])).changed == ["x1"]
    with pytest.raises(SchemaError, match="2 columns without names"):
        monitor(known, X[:, :2])


def test_records_that_leave_a_field_out(reference):
    watcher = Watcher(reference)
    frame = rows(60, 1)
    for i, record in enumerate(frame.to_dict("records")):
        watcher.add([{k: v for k, v in record.items() if k != "city" or i % 2}])
    state = watcher.result().frame().set_index("column")
    assert state.loc["city", "missing now"] == 0.5
    assert state.loc["city", "state"] == "changed"


def test_new_levels_are_remembered_up_to_a_bound(reference):
    watcher = Watcher(reference)
    for i in range(50):
        watcher.add(rows(5, i).assign(city=[f"town {i} {j}" for j in range(5)]))
    found = watcher.result()["M204"][0].evidence
    assert found["cells"] == 250
    assert len(found["levels"]) == 20


# ------------------------------------------------------------------------------------------- models and model files


@pytest.mark.covers("LC-05", "LC-04")
def test_a_model_file_carries_its_reference(tmp_path):
    titanic = dataset("titanic").frame
    model = tilth.NaiveBayes().fit(titanic, "survived")
    about = {"reference": Reference.of(titanic, schema=None, target="survived").to_dict()}
    path = save(model, tmp_path / "m.tilth", about=about)
    new = titanic.drop(columns="survived").assign(age=titanic["age"] + 30)
    assert monitor(path, new).changed == ["age"]
    # The model alone knows ranges and levels, not shares.
    alone = monitor(load(path), new.assign(embarked="Z"))
    assert {f.code for f in alone.findings if f.severity != "info"} == {"M203", "M204"}
    assert set(alone.frame()["state"]) == {"changed", "shares not known"}


def test_a_reference_by_the_schema_of_a_model():
    titanic = dataset("titanic").frame
    model = tilth.NaiveBayes().fit(titanic, "survived")
    known = Reference.of(titanic, schema=model.schema_)
    assert [c.name for c in known.columns] == list(model.schema_.names)
    assert Reference.from_dict(Reference.of_schema(model.schema_).to_dict()) == Reference.of_schema(model.schema_)


def test_files_without_a_reference_say_so(tmp_path):
    model = tilth.ZeroRRegressor().fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ModelFileError, match="does not say"):
        monitor(save(model, tmp_path / "a.tilth"), [[1.0]])
    with pytest.raises(ModelFileError, match="cannot be used"):
        monitor(save(model, tmp_path / "b.tilth", about={"reference": {"schema": 1}}), [[1.0]])
    with pytest.raises(TypeError, match="Reference"):
        monitor(3, [[1.0]])
    with pytest.raises(TypeError, match="Reference"):
        Watcher({"a": 1})
    with pytest.raises(ValueError, match="level"):
        Watcher(Reference.of({"a": [1.0]}), level=1)


# ------------------------------------------------------------------------------------------------------- the result


def test_the_picture_shows_the_table(reference, tmp_path):
    new = rows(500, 7).assign(size=lambda f: f["size"] + 8)
    found = monitor(reference, new)
    figure = found.plot()
    figure.savefig(tmp_path / "changes.svg")
    dots = np.sort(np.concatenate([line.get_xdata() for line in figure.axes[0].lines if line.get_marker() == "o"]))
    assert np.allclose(dots, np.sort(found.frame()["psi"].dropna()))
    bars = found.plot("city")
    bars.savefig(tmp_path / "city.svg")
    heights = [patch.get_height() for patch in bars.axes[0].patches]
    told = found.shares("city")
    assert np.allclose(heights, [*told["training"], *told["now"]])
    assert told["now"].sum() == pytest.approx(1)


def test_sections_and_text(reference):
    found = monitor(reference, rows(500, 7).assign(size=lambda f: f["size"] + 8))
    first, second = found.sections()
    assert (first.light, first.text) == ("bad", found.verdict())
    assert len(second.frame) == 7
    assert json.dumps([s.to_dict() for s in found.sections()])
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert "M201" in str(found)
    assert {f.code for f in found.findings} <= set(CODES)


def test_what_cannot_be_compared_is_not_called_unchanged():
    rng = np.random.default_rng(0)
    flag = np.zeros(1000)
    flag[:3] = 1.0
    seen = Reference.of(pd.DataFrame({"flag": flag, "same": np.ones(1000)}))
    new = pd.DataFrame({"flag": rng.integers(0, 2, 2000).astype(float), "same": np.ones(2000)})
    found = monitor(seen, new)
    states = found.frame().set_index("column")["state"]
    assert states["same"] == "no change seen"
    assert states["flag"] != "no change seen"
    assert "a large one would have been" not in found.verdict()


def test_numbers_are_the_levels_that_models_take_them_for():
    seen = Reference.of(pd.DataFrame({"zip": ["007", "012", "100"] * 100}), kinds={"zip": "nominal"})
    found = monitor(seen, pd.DataFrame({"zip": [7, 12, 100] * 100}))
    assert found.changed == []
