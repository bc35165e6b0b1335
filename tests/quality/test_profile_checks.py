"""Each check on a planted fault, and on a twin without it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from tilth.data import datasets
from tilth.quality import balanced_weights, imputation_bias, profile

N = 400


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# ---------------------------------------------------------------------------------------------------------- missing


@pytest.mark.covers("D-06", "D-07", "FX-91")
def test_a_rule_of_missingness_is_recovered_in_words(rng: np.random.Generator) -> None:
    age = rng.integers(20, 90, N).astype(float)
    test = rng.normal(size=N)
    test[(age <= 60) ^ (rng.random(N) < 0.02)] = np.nan
    report = profile({"age": age, "sex": rng.choice(["f", "m"], N), "test": test, "noise": rng.normal(size=N)})
    (found,) = report["Q103"]
    assert found.columns == ("test",)
    assert found.evidence["predicted_by"] == "age"
    assert found.evidence["auc"] > 0.9
    assert found.evidence["rule_holds"] > 0.95 > found.evidence["rule_holds_by_guessing"]
    assert "age <= 60" in found.title
    assert found.evidence["tree"][0] == "age <= 60:"


@pytest.mark.covers("D-07")
def test_a_rule_of_two_columns_becomes_a_tree_of_two_splits(rng: np.random.Generator) -> None:
    age = rng.integers(20, 90, 2000).astype(float)
    ward = rng.choice(["A", "B", "C"], 2000)
    test = np.where((age > 50) & (ward != "A"), rng.normal(size=2000), np.nan)
    (found,) = profile({"age": age, "ward": ward, "test": test})["Q103"]
    text = "\n".join(found.evidence["tree"])
    assert "age" in text
    assert "ward" in text
    assert found.evidence["rule_holds"] == 1.0


@pytest.mark.covers("D-07")
def test_a_list_of_names_is_no_rule() -> None:
    titanic = datasets.load("titanic").frame
    cabin = profile(titanic, "survived", kinds={"name": "nominal", "ticket": "nominal"})["Q103"][0]
    assert cabin.evidence["predicted_by"] in ("pclass", "fare")
    assert "name" not in "\n".join(cabin.evidence["tree"])


@pytest.mark.covers("D-07")
def test_rules_speak_of_gaps_dates_and_the_fewer_levels(rng: np.random.Generator) -> None:
    weight = np.where(rng.random(N) < 0.4, np.nan, rng.normal(70, 9, N))
    (found,) = profile({"weight": weight, "height": np.where(np.isnan(weight), np.nan, rng.normal(size=N))})["Q103"][:1]
    assert found.evidence["tree"][0] == f"{found.evidence['predicted_by']} is not missing:"
    assert found.evidence["rule_holds"] == 1.0
    day = np.datetime64("2024-01-01") + rng.integers(0, 100, N)
    (found,) = profile({"day": day, "x": np.where(day <= np.datetime64("2024-01-31"), np.nan, rng.normal(size=N))})[
        "Q103"
    ]
    assert "day <= 2024-01-31" in found.title
    ward = rng.choice(list("abcdefg"), N)
    (found,) = profile({"ward": ward, "x": np.where(ward == "c", rng.normal(size=N), np.nan)})["Q103"]
    assert found.evidence["tree"][0] == "ward is 'c':"
    assert "where ward is not 'c'" in found.title


@pytest.mark.covers("D-06")
def test_missingness_that_depends_on_the_target_is_found(rng: np.random.Generator) -> None:
    y = rng.choice(["ill", "well"], N)
    lab = np.where((y == "well") & (rng.random(N) < 0.8), np.nan, rng.normal(size=N))
    (found,) = profile({"lab": lab, "x": rng.normal(size=N), "y": y}, "y")["Q103"]
    assert found.evidence["predicted_by"] == "y"
    assert "'well'" in found.title


@pytest.mark.covers("D-06", "FX-91")
def test_cells_missing_completely_at_random_have_no_rule() -> None:
    false_alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
        frame["g"] = rng.choice(["u", "v", "w"], 300)
        frame = frame.mask(rng.random(frame.shape) < 0.15)
        false_alarms += len(profile(frame)["Q103"])
    assert false_alarms == 0


@pytest.mark.covers("X-13", "SP-19")
def test_imputation_bias_shows_the_shrunken_variance(rng: np.random.Generator) -> None:
    x = rng.normal(10, 3, N)
    gaps = rng.random(N) < 0.4
    frame = pd.DataFrame({"x": np.where(gaps, np.nan, x), "full": x})
    table = imputation_bias(frame).set_index("column")
    assert list(table.index) == ["x"]
    filled = frame["x"].fillna(frame["x"].mean())
    assert table.loc["x", "variance"] == pytest.approx(frame["x"].var())
    assert table.loc["x", "variance_after"] == pytest.approx(filled.var())
    assert table.loc["x", "sd_after"] == pytest.approx(filled.std())
    by_median = frame["x"].fillna(frame["x"].median())
    shift = (by_median.mean() - frame["x"].mean()) / frame["x"].std()
    assert table.loc["x", "mean_shift_median"] == pytest.approx(shift)
    (finding,) = profile(frame)["Q104"]
    assert finding.evidence["x"]["shrink"] == pytest.approx(1 - filled.var() / frame["x"].var())


# -------------------------------------------------------------------------------------------------------- disguises


@pytest.mark.covers("D-08", "SP-17")
@pytest.mark.parametrize("code", [999.0, 99.0, -1.0, -99.0, -999.0, 9999.0, 0.0, 888.0])
def test_planted_codes_for_missing_are_flagged(rng: np.random.Generator, code: float) -> None:
    age = rng.integers(18, 75, N).astype(float)
    planted = rng.choice(N, 12, replace=False)
    age[planted] = code
    (found,) = profile({"age": age})["Q112"]
    assert (found.evidence["value"], found.evidence["cells"]) == (code, 12)
    assert found.evidence["rows"] == sorted(int(i) for i in planted)[:10]
    assert found.severity in ("warning", "serious")
    real = age[age != code]
    assert found.evidence["mean_without"] == pytest.approx(real.mean())
    assert not profile({"age": real})["Q112"]


@pytest.mark.covers("D-08")
def test_real_values_that_look_like_codes_are_left_alone(rng: np.random.Generator) -> None:
    frame = {
        "price": np.round(rng.uniform(0, 2000, N)),
        "change": np.round(rng.normal(0, 3, N)),
        "count": rng.poisson(1.0, N).astype(float),
        "grade": rng.integers(1, 10, N).astype(float),
        "percent": rng.integers(80, 101, N).astype(float),
        "rain": np.where(rng.random(N) < 0.02, 0.0, rng.exponential(5, N)),
        "flag": rng.integers(0, 2, N),
    }
    frame["price"][:3] = 999.0
    assert not profile(frame)["Q112"]


@pytest.mark.covers("D-08")
def test_a_spike_of_nines_inside_the_range_is_flagged(rng: np.random.Generator) -> None:
    pay = np.round(rng.uniform(0, 5000, 2000))
    pay[:60] = 999.0
    (found,) = profile({"pay": pay})["Q112"]
    assert found.evidence["value"] == 999.0


@pytest.mark.covers("D-08")
def test_words_for_missing(rng: np.random.Generator) -> None:
    colour = rng.choice(["red", "green", "blue"], N).astype(object)
    colour[[3, 50, 77]] = ["N/A", "?", " - "]
    (found,) = profile({"colour": colour})["Q111"]
    assert (found.severity, found.evidence["cells"], found.evidence["rows"]) == ("warning", 3, [3, 50, 77])
    guarantor = rng.choice(["none", "parent"], N)
    (hint,) = profile({"guarantor": guarantor})["Q111"]
    assert hint.severity == "info"


@pytest.mark.covers("D-08")
@pytest.mark.parametrize("as_text", [False, True])
def test_first_of_january_spike(rng: np.random.Generator, as_text: bool) -> None:
    days = pd.Series(pd.Timestamp("1950-03-04") + pd.to_timedelta(rng.integers(0, 15_000, N), unit="D"))
    spiked = days.copy()
    spiked[:40] = pd.to_datetime(spiked[:40].dt.year.astype(str) + "-01-01")
    epoch = days.copy()
    epoch[:5] = pd.Timestamp("1900-01-01")
    frame = pd.DataFrame({"born": spiked, "real": days, "since": epoch})
    if as_text:
        frame = frame.apply(lambda s: s.dt.strftime("%Y-%m-%d"))
    assert [f.columns[0] for f in profile(frame)["Q113"]] == ["born", "since"]


# ----------------------------------------------------------------------------------------------------------- values


@pytest.mark.covers("D-09", "SP-20")
def test_user_rules_list_the_rows_that_break_them() -> None:
    frame = {
        "age": [30, -2, 41, 130, 18],
        "sex": ["m", "f", "x", "m", "f"],
        "plate": ["AB-1", "AB-2", "1-AB", "CD-3", "D-4"],
    }
    rules = {"age": (0, 120), "sex": {"m", "f"}, "plate": re.compile(r"[A-Z]{2}-\d")}
    found = {f.columns[0]: f for f in profile(frame, rules=rules)["Q201"]}
    assert {name: f.evidence["rows"] for name, f in found.items()} == {"age": [1, 3], "sex": [2], "plate": [2, 4]}
    assert all(f.severity == "serious" for f in found.values())
    assert not profile(frame, rules={"age": (None, 200), "sex": ["m", "f", "x"]})["Q201"]
    assert profile(frame, rules={"age": {30, 41, 18}})["Q201"][0].evidence["rows"] == [1, 3]


def test_rules_on_missing_cells_and_wrong_kinds() -> None:
    assert not profile({"age": [30.0, np.nan]}, rules={"age": (0, 120)})["Q201"]
    with pytest.raises(ValueError, match="is a range, but the column is nominal"):
        profile({"sex": ["m", "f"]}, rules={"sex": (0, 1)})


@pytest.mark.covers("D-12")
def test_a_typing_error_is_flagged_with_its_reason(rng: np.random.Generator) -> None:
    height = np.round(rng.normal(170, 9, N))
    height[123] = 1700
    (found,) = profile({"height": height})["Q203"]
    assert found.severity == "warning"
    assert found.evidence["rows"] == [123]
    assert "ten times the usual" in found.title
    height[123] = -171
    (found,) = profile({"height": height})["Q203"]
    assert "sign" in found.title


@pytest.mark.covers("D-12")
def test_long_tails_are_no_outliers(rng: np.random.Generator) -> None:
    frame = {
        "normal": rng.normal(size=5000),
        "income": rng.lognormal(10, 1, 5000),
        "wait": rng.exponential(3, 5000),
        "count": rng.poisson(2, 5000),
        "t3": rng.standard_t(5, 5000),
    }
    assert not [f for f in profile(frame)["Q203"] if f.severity != "info"]
    assert len(profile(frame)["Q203"]) <= 1


@pytest.mark.covers("D-13")
def test_broken_formats_are_reported(rng: np.random.Generator) -> None:
    code = [f"{'ABC'[i % 3]}-{i + 1000:04d}" for i in range(200)]
    code[17], code[90] = "A1017", "B_1090"
    (found,) = profile({"code": code})["Q205"]
    assert (found.evidence["format"], found.evidence["rows"]) == ("A-9999", [17, 90])
    loose = [f"user{i}@site.org" for i in range(200)]
    loose[5] = "user5.site.org"
    assert profile({"mail": loose})["Q205"][0].evidence["rows"] == [5]
    assert not profile({"name": [f"{a} {b}" for a in "PQRST" for b in ("Oak", "elm", "Fir-tree", "ash3")] * 4})["Q205"]


@pytest.mark.covers("D-13")
def test_text_that_nearly_reads_as_numbers() -> None:
    weight = [str(50 + i % 30) for i in range(200)]
    weight[9] = "61 kg"
    weight[10] = "6l"
    (found,) = profile({"weight": weight})["Q204"]
    assert found.evidence["rows"] == [9, 10]


@pytest.mark.covers("D-11")
def test_variant_spellings_are_found() -> None:
    city = ["Melbourne"] * 60 + ["Sydney"] * 40 + ["Melborne", "melbourne ", "Sidney", "SYDNEY", "Perth", "Berth"]
    (found,) = profile({"city": city})["Q206"]
    assert found.evidence["pairs"] == {
        "melbourne ": "Melbourne", "SYDNEY": "Sydney", "Melborne": "Melbourne", "Sidney": "Sydney",
    }  # fmt: skip
    assert found.evidence["rows"] == [100, 101, 102, 103]


@pytest.mark.covers("D-11")
def test_different_levels_are_not_taken_for_misspellings() -> None:
    frame = {
        "size": ["1-4 yrs"] * 50 + ["4-7 yrs"] * 3 + ["14 yrs"] * 3,
        "who": ["married male"] * 50 + ["married female"] * 3 + ["single male"] * 3,
        "code": ["b1"] * 50 + ["b2"] * 3 + ["b12"] * 3,
        "sign": ["< 0 DM"] * 50 + ["> 0 DM"] * 3 + ["0 DM"] * 3,
        "equal": ["grain"] * 30 + ["groin"] * 26,
    }
    assert not profile(frame)["Q206"]


# ------------------------------------------------------------------------------------------------------- redundancy


@pytest.mark.covers("D-10")
def test_the_ratio_in_the_blood_table_is_found() -> None:
    report = profile(datasets.load("blood").frame)
    (found,) = report["Q304"]
    assert set(found.columns) == {"H-MCV", "H-Hct", "H-RBC"}
    assert found.evidence["formula"] == "H-MCV ~ 10 x H-Hct / H-RBC"
    assert found.evidence["r_squared"] > 0.98


@pytest.mark.covers("D-10")
def test_copies_sums_products_and_combinations(rng: np.random.Generator) -> None:
    a, b, c = rng.uniform(1, 5, (3, N))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "inch": a / 2.54 + 1, "sum": a + b, "area": 3 * b * c})
    found = {f.columns[0]: f for f in profile(frame)["Q304"]}
    assert found["inch"].columns == ("inch", "a")
    assert found["inch"].evidence["slope"] == pytest.approx(1 / 2.54)
    assert set(found["sum"].columns) == {"sum", "a", "b"}
    assert found["area"].evidence["factor"] == pytest.approx(3)
    mix = pd.DataFrame({"a": a, "b": b, "c": c, "mix": 2 * a - 0.5 * b + 7 * c})
    (combination,) = profile(mix)["Q304"]
    assert combination.columns == ("mix", "a", "b", "c")


@pytest.mark.covers("D-10")
def test_independent_columns_are_not_called_redundant() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.lognormal(0, 0.3, (12, 8)))
        frame.columns = [f"x{j}" for j in range(8)]
        assert not profile(frame)["Q304"]


@pytest.mark.covers("D-10")
def test_relabelled_and_derived_levels(rng: np.random.Generator) -> None:
    country = rng.choice(["at", "ch", "de"], N)
    frame = {
        "country": country,
        "name": pd.Series(country).map({"at": "Austria", "ch": "Switzerland", "de": "Germany"}).to_list(),
        "euro": np.where(country == "ch", "no", "yes"),
        "free": rng.choice(["u", "v", "w"], N),
    }
    same, derived = profile(frame)["Q303"]
    assert same.columns == ("country", "name")
    assert derived.evidence["pairs"] == [["country", "euro"]]


def test_constants_and_identifiers(rng: np.random.Generator) -> None:
    frame = {
        "k": ["x"] * N,
        "almost": ["x"] * (N - 1) + ["y"],
        "row": np.arange(N),
        "measure": rng.integers(0, 10**9, N),
        "note": [f"text number {i}" for i in range(N)],
        "x": rng.normal(size=N),
    }
    report = profile(frame)
    assert [f.columns for f in report["Q301"]] == [("k",), ("almost",)]
    assert [f.columns[0] for f in report["Q302"]] == ["row", "note"]


# ------------------------------------------------------------------------------------------------- rows and target


def test_repeated_rows_by_chance_are_no_alarm(rng: np.random.Generator) -> None:
    coarse = {c: rng.choice(["a", "b"], 200) for c in "uvw"}
    assert [f.severity for f in profile(coarse)["Q401"]] == ["info"]
    fine = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("uvw"))
    doubled = pd.concat([fine, fine.iloc[:20]], ignore_index=True)
    (found,) = profile(doubled)["Q401"]
    assert (found.severity, found.evidence["repeats"]) == ("serious", 20)
    assert found.evidence["rows"] == list(range(200, 210))
    assert found.evidence["repeat_of"] == list(range(10))


def test_missing_and_negative_zero_cells_are_equal_cells() -> None:
    report = profile({"x": [0.0, -0.0, np.nan, np.nan, 1.0], "c": ["a", "a", None, None, "b"]})
    assert report["Q401"][0].evidence["repeats"] == 2


def test_conflicting_labels(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("uvw"))
    frame["y"] = rng.choice(["no", "yes"], 100)
    twin = frame.iloc[:10].copy()
    twin["y"] = np.where(twin["y"] == "yes", "no", "yes")
    (found,) = profile(pd.concat([frame, twin], ignore_index=True), "y")["Q403"]
    assert (found.severity, found.evidence["groups"], found.evidence["unavoidable_errors"]) == ("warning", 10, 10)
    assert not profile(frame, "y")["Q403"]


@pytest.mark.covers("D-16")
def test_balanced_weights_sum_equally_per_class(rng: np.random.Generator) -> None:
    y = rng.choice(["a", "b", "c"], 300, p=[0.7, 0.2, 0.1])
    own = rng.uniform(0.5, 2, 300)
    for weights, total in ((balanced_weights(y), 300.0), (balanced_weights(y, own), own.sum())):
        sums = [weights[y == c].sum() for c in "abc"]
        assert sums == pytest.approx([total / 3] * 3)
    from sklearn.utils.class_weight import compute_sample_weight

    assert balanced_weights(y) == pytest.approx(compute_sample_weight("balanced", y))
    with pytest.raises(ValueError, match="NaN"):
        balanced_weights(["a", None, "b"])
    with pytest.raises(ValueError, match="zero"):
        balanced_weights(["a", "b"], [1.0, 0.0])
    with pytest.raises(ValueError, match="one label per row"):
        balanced_weights([])


@pytest.mark.covers("D-16")
def test_class_balance_is_summarised(rng: np.random.Generator) -> None:
    y = np.array(["good"] * 390 + ["bad"] * 8 + ["odd"] * 2)
    report = profile({"x": rng.normal(size=N), "y": y}, "y")
    assert report.balance is not None
    assert report.balance.set_index("class")["rows"].to_dict() == {"good": 390, "bad": 8, "odd": 2}
    assert (report.balance["rows"] * report.balance["weight"]).tolist() == pytest.approx([N / 3] * 3)
    assert report["Q502"][0].severity == "warning"
    assert report["Q503"][0].evidence["rows"] == {"bad": 8, "odd": 2}


def test_target_faults() -> None:
    frame = pd.DataFrame({"x": range(50), "y": ["a", "b"] * 25})
    frame.loc[[3, 4], "y"] = None
    assert profile(frame, "y")["Q501"][0].evidence["rows"] == [3, 4]
    frame["y"] = "same"
    assert profile(frame, "y")["Q501"][0].severity == "serious"
    frame["y"] = None
    assert profile(frame, "y")["Q501"][0].severity == "serious"


def test_leaks_are_told_from_easy_problems(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, N)
    hard = {"x": rng.normal(size=N) + 0.3 * y, "z": rng.normal(size=N), "y": y}
    assert not profile(hard, "y")["Q504"]
    leaky = profile({**hard, "after": np.where(rng.random(N) < 0.02, 1 - y, y) * 2.5}, "y")["Q504"]
    assert [(f.severity, f.columns) for f in leaky] == [("serious", ("after",))]
    easy = {f"x{j}": rng.normal(size=N) + 4 * y for j in range(4)} | {"weak": rng.normal(size=N) + 2.5 * y, "y": y}
    assert {f.severity for f in profile(easy, "y")["Q504"]} <= {"info"}


def test_leak_through_missingness_and_identifiers_that_only_memorise(rng: np.random.Generator) -> None:
    y = rng.choice(["no", "yes"], N)
    closed_on = np.where(y == "yes", rng.normal(size=N), np.nan)
    report = profile(
        {"closed": closed_on, "x": rng.normal(size=N), "name": [f"person {i}" for i in range(N)], "y": y}, "y"
    )
    assert [f.columns for f in report["Q504"]] == [("closed",)]


def test_leak_of_a_rare_class_shows_in_the_area(rng: np.random.Generator) -> None:
    y = (rng.random(5000) < 0.02).astype(int)
    score = np.where(y == 1, rng.normal(4, 1, 5000), rng.normal(0, 1, 5000))
    report = profile({"score": score, "x": rng.normal(size=5000), "y": y}, "y")
    assert [(f.severity, f.columns) for f in report["Q504"]] == [("serious", ("score",))]


def test_leak_of_a_quantity(rng: np.random.Generator) -> None:
    price = rng.lognormal(5, 1, N)
    frame = {"tax": price**0.9, "size": price + rng.normal(0, 200, N), "price": price}
    assert [f.columns for f in profile(frame, "price")["Q504"]] == [("tax",)]
