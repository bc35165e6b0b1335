"""Measures of relevance: their formulas, their peers, kinds and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tilth.data.datasets import load
from tilth.data.infer import infer
from tilth.data.kinds import Kind
from tilth.data.reading import read
from tilth.data.table import Column
from tilth.parts.column_pairs import explained_share
from tilth.parts.criteria import information_gain
from tilth.parts.relevance import (
    NAMED,
    AnovaF,
    CFSMerit,
    ChiSquare,
    Correlation,
    MutualInformation,
    SignalToNoise,
    SymmetricUncertainty,
    target_column,
)


def numbers(values, name="x"):
    return Column(name, Kind("numeric"), np.asarray(values, dtype=np.float64))


def levels(codes, name="x", kind="nominal"):
    codes = np.asarray(codes, dtype=np.int32)
    return Column(name, Kind(kind, tuple(f"l{i}" for i in range(int(codes.max()) + 1))), codes)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def mixed(rng):
    """A number, a column of levels and an ordinal one, two classes, three classes and a numeric target."""
    n = 400
    hidden = rng.integers(0, 3, n)
    return {
        "number": numbers(rng.normal(hidden, 1.0)),
        "levels": levels((hidden + rng.integers(0, 2, n)) % 4),
        "ordinal": levels(np.clip(hidden + rng.integers(-1, 2, n), 0, 2), kind="ordinal"),
        "two": levels((hidden > 0).astype(int)),
        "three": levels(hidden),
        "target": numbers(hidden + rng.normal(size=n)),
    }


# ------------------------------------------------------------------------------------------------------ signal to noise


@pytest.mark.covers("FS-01")
def test_signal_to_noise_is_difference_over_spreads(rng):
    y = rng.integers(0, 2, 300)
    x = rng.normal(2.0 * y, 1.0 + y)
    low, high = x[y == 0], x[y == 1]
    expected = abs(high.mean() - low.mean()) / (high.std() + low.std())
    assert SignalToNoise().of(numbers(x), levels(y)).value == pytest.approx(expected, rel=1e-12)
    fisher = (high.mean() - low.mean()) ** 2 / (high.var() + low.var())
    assert SignalToNoise(form="fisher").of(numbers(x), levels(y)).value == pytest.approx(fisher, rel=1e-12)


@pytest.mark.covers("WN-72", "FX-68")
@pytest.mark.parametrize("unit", [1.0, 10.0])
def test_signal_to_noise_of_six_rows_by_hand(unit):
    """(3, 4, 5) against (0, 1, 2): 3 / (2 x 0.8165), and 9 / (2 x 0.6667) by Fisher; the unit does not matter."""
    x, y = numbers(unit * np.array([3.0, 4, 5, 0, 1, 2])), levels(np.array([1, 1, 1, 0, 0, 0]))
    assert SignalToNoise().of(x, y).value == pytest.approx(1.837, abs=5e-4)
    assert SignalToNoise(form="fisher").of(x, y).value == pytest.approx(6.75)


@pytest.mark.covers("FS-01")
@pytest.mark.parametrize("form", ["ratio", "fisher"])
def test_signal_to_noise_has_no_units(rng, form):
    y = rng.integers(0, 2, 200)
    x = rng.normal(y)
    measure = SignalToNoise(form=form)
    once = measure.of(numbers(x), levels(y)).value
    assert measure.of(numbers(10 * x - 3), levels(y)).value == pytest.approx(once, rel=1e-10)


@pytest.mark.covers("FS-01")
def test_signal_to_noise_ranks_planted_columns(rng):
    y = rng.integers(0, 2, 500)
    columns = [numbers(rng.normal(shift * y)) for shift in (0.0, 2.0, 0.5, 1.0)]
    ranks = np.argsort([-SignalToNoise().of(c, levels(y)).order for c in columns])
    assert ranks.tolist() == [1, 3, 2, 0]


def test_signal_to_noise_without_spread():
    y = levels([0, 0, 1, 1])
    assert SignalToNoise().of(numbers([1, 1, 2, 2]), y).value == np.inf
    assert SignalToNoise().of(numbers([5, 5, 5, 5]), y).value == 0.0
    alone = SignalToNoise().of(numbers([1.0, 2.0]), levels([0, 0]))
    assert np.isnan(alone.value)
    assert alone.order == -np.inf


# -------------------------------------------------------------------------------------------------- mutual information


@pytest.mark.covers("FS-02")
def test_mutual_information_of_levels_is_the_gain_of_a_tree():
    weather = load("weather").frame
    gains = {"Outlook": 0.2467, "Temp": 0.0292, "Humidity": 0.1518, "Windy": 0.0481}
    raw = read(weather)
    table = raw.typed(infer(raw))
    play = table["Play"]
    for name, gain in gains.items():
        column = table[name]
        counts = np.zeros((len(column.kind.levels), 2))
        np.add.at(counts, (column.values, play.values), 1)
        found = MutualInformation().of(column, play).value
        assert found == pytest.approx(information_gain(counts), abs=1e-12)
        assert found == pytest.approx(gain, abs=5e-5)


@pytest.mark.covers("FS-02", "FX-69")
def test_mutual_information_of_independent_levels_is_zero():
    x, y = np.divmod(np.arange(12), 3)
    assert MutualInformation().of(levels(x), levels(y)).value == pytest.approx(0.0, abs=1e-12)


def test_mutual_information_is_symmetric(mixed):
    for a, b in (("levels", "three"), ("number", "target"), ("number", "three")):
        one = MutualInformation().of(mixed[a], mixed[b]).value
        assert MutualInformation().of(mixed[b], mixed[a]).value == pytest.approx(one, abs=0.03)


@pytest.mark.covers("FS-03")
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_mutual_information_of_a_normal_pair(rng, rho):
    x, e = rng.normal(size=(2, 4000))
    y = rho * x + np.sqrt(1 - rho**2) * e
    truth = -0.5 * np.log(1 - rho**2)
    neighbours = MutualInformation(base=np.e).of(numbers(x), numbers(y)).value
    gaussian = MutualInformation(base=np.e, method="gaussian").of(numbers(x), numbers(y)).value
    assert neighbours == pytest.approx(truth, abs=0.04)
    assert gaussian == pytest.approx(truth, abs=0.03)
    bits = MutualInformation().of(numbers(x), numbers(y)).value
    assert bits == pytest.approx(neighbours / np.log(2), rel=1e-12)


@pytest.mark.covers("FS-03")
def test_mutual_information_sees_what_correlation_does_not(rng):
    x = rng.normal(size=2000)
    y = x**2 + 0.1 * rng.normal(size=2000)
    assert Correlation().of(numbers(x), numbers(y)).value < 0.1
    assert MutualInformation().of(numbers(x), numbers(y)).value > 1.0


@pytest.mark.covers("FS-03")
def test_mutual_information_of_a_number_and_classes(rng):
    """Two far normal classes: one bit; the same class twice: nothing."""
    y = rng.integers(0, 2, 2000)
    assert MutualInformation().of(numbers(rng.normal(20 * y)), levels(y)).value == pytest.approx(1.0, abs=0.03)
    assert MutualInformation().of(numbers(rng.normal(size=2000)), levels(y)).value < 0.03


def test_missing_cells_lower_information_by_their_share(rng):
    x, y = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    x[:100] = -1
    whole = MutualInformation().of(levels(x[100:]), levels(y[100:])).value
    assert MutualInformation().of(levels(x), levels(y)).value == pytest.approx(whole * 2 / 3, rel=1e-12)


# ------------------------------------------------------------------------------------------------------------ the tests


@pytest.mark.covers("FS-04")
@pytest.mark.parametrize("target", ["two", "three"])
def test_chi_square_equals_scipy(mixed, target):
    x, y = mixed["levels"], mixed[target]
    counts = np.zeros((4, int(y.values.max()) + 1))
    np.add.at(counts, (x.values, y.values), 1)
    peer = stats.chi2_contingency(counts, correction=False)
    found = ChiSquare().of(x, y)
    assert found.value == pytest.approx(peer.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(peer.pvalue, rel=1e-9)


@pytest.mark.covers("FS-04")
def test_chi_square_does_not_take_codes_for_amounts(mixed):
    """Renaming levels changes nothing; scikit-learn's chi2 sums the codes."""
    x = mixed["levels"]
    shuffled = levels(np.array([2, 0, 3, 1])[x.values])
    assert ChiSquare().of(shuffled, mixed["two"]).value == pytest.approx(ChiSquare().of(x, mixed["two"]).value)


@pytest.mark.covers("FS-05")
def test_anova_equals_scipy(mixed):
    x, y = mixed["number"].values, mixed["three"].values
    peer = stats.f_oneway(*(x[y == c] for c in range(3)))
    found = AnovaF().of(mixed["number"], mixed["three"])
    assert (found.value, found.p_value) == pytest.approx((peer.statistic, peer.pvalue), rel=1e-10)
    swapped = AnovaF().of(mixed["three"], mixed["number"])
    assert swapped.value == pytest.approx(found.value, rel=1e-10)


@pytest.mark.covers("FS-05")
def test_anova_of_two_numbers_equals_scikit_learn(mixed):
    from sklearn.feature_selection import f_regression

    f, p = f_regression(mixed["number"].values[:, None], mixed["target"].values)
    found = AnovaF().of(mixed["number"], mixed["target"])
    assert (found.value, found.p_value) == pytest.approx((f[0], p[0]), rel=1e-8)


def test_anova_of_levels_and_two_classes_is_that_of_the_class_as_a_number(mixed):
    groups, y = mixed["levels"].values, mixed["two"].values.astype(float)
    peer = stats.f_oneway(*(y[groups == g] for g in range(4)))
    assert AnovaF().of(mixed["levels"], mixed["two"]).value == pytest.approx(peer.statistic, rel=1e-10)


@pytest.mark.parametrize("measure", [ChiSquare(), AnovaF()])
def test_order_follows_the_p_value_where_it_has_digits_and_goes_on_where_it_has_not(rng, measure):
    y = rng.integers(0, 2, 5000)
    columns = [levels((y + (rng.random(5000) < noise)) % 2) for noise in (0.5, 0.47, 0.4, 0.1, 0.02)]
    found = [measure.of(c, levels(y)) for c in columns]
    assert np.all(np.diff([f.order for f in found]) > 0)
    assert np.all(np.diff([f.p_value for f in found]) <= 0)


@pytest.mark.covers("FS-04", "FS-05")
@pytest.mark.parametrize("measure", [ChiSquare(), AnovaF(), Correlation(), Correlation(method="spearman")])
@pytest.mark.parametrize("kind", ["number", "levels", "ordinal"])
def test_p_values_are_uniform_without_relation(kind, measure):
    """Law of a test: under independence a p-value below 0.1 comes in a tenth of the cases."""
    small = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = numbers(rng.normal(size=80)) if kind == "number" else levels(rng.integers(0, 3, 80), kind=(
            "ordinal" if kind == "ordinal" else "nominal"))  # fmt: skip
        small += measure.of(x, levels(rng.integers(0, 3, 80))).p_value < 0.1
    assert 0.05 < small / 300 < 0.16


# ---------------------------------------------------------------------------------------------------------- correlation


@pytest.mark.covers("FS-06")
def test_correlation_equals_scipy(mixed):
    x, y = mixed["number"], mixed["target"]
    for method, peer in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        r, p = peer(x.values, y.values)
        found = Correlation(method=method).of(x, y)
        assert (found.value, found.p_value) == pytest.approx((abs(r), p), rel=1e-9)
    r, p = stats.pointbiserialr(mixed["two"].values, x.values)
    found = Correlation().of(x, mixed["two"])
    assert (found.value, found.p_value) == pytest.approx((abs(r), p), rel=1e-9)


def test_correlation_of_levels_is_eta_or_cramers_v(mixed):
    eta = Correlation().of(mixed["number"], mixed["three"])
    f = AnovaF().of(mixed["number"], mixed["three"])
    assert eta.value**2 == pytest.approx(2 * f.value / (2 * f.value + 397), rel=1e-10)
    assert eta.p_value == pytest.approx(f.p_value, rel=1e-10)
    x, y = mixed["levels"], mixed["three"]
    counts = np.zeros((4, 3))
    np.add.at(counts, (x.values, y.values), 1)
    assert Correlation().of(x, y).value == pytest.approx(
        stats.contingency.association(counts.astype(int), method="cramer"), rel=1e-10
    )


@pytest.mark.covers("FS-06")
@pytest.mark.parametrize("relation", [None, Correlation()])
def test_merit_charges_a_copy_and_rewards_a_second_witness(rng, relation):
    y = rng.normal(size=1000)
    a, b = y + rng.normal(size=1000), y + rng.normal(size=1000)
    columns = [numbers(a), numbers(2 * a + 1), numbers(b)]
    measure = CFSMerit(relation=relation)
    to = np.array([measure.of(c, numbers(y)).value for c in columns])
    among = measure.among(columns)

    def merit(*chosen):
        return measure.merit(to[list(chosen)], among[np.ix_(chosen, chosen)])

    assert merit(0, 1) == pytest.approx(merit(0), rel=1e-6)
    assert merit(0, 2) > merit(0)
    assert merit(0, 2) > merit(0, 1, 2)


@pytest.mark.covers("FS-06", "FX-70")
def test_merit_is_halls_formula():
    to, among = np.array([0.5, 0.3, 0.4]), np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
    expected = 3 * 0.4 / np.sqrt(3 + 3 * 2 * 0.2)
    assert CFSMerit().merit(to, among) == pytest.approx(expected, rel=1e-12)


def test_columns_prepared_once_give_the_same_relation(mixed):
    measure = SymmetricUncertainty()
    gaps = numbers(np.where(np.arange(400) % 7 == 0, np.nan, mixed["number"].values))
    for x in (mixed["number"], mixed["levels"], mixed["ordinal"]):
        once = measure.of(measure.prepared(x), measure.prepared(mixed["target"])).value
        assert once == pytest.approx(measure.of(x, mixed["target"]).value, rel=1e-12)
    assert measure.prepared(gaps).missing.sum() == np.isnan(gaps.values).sum()


def test_symmetric_uncertainty_lies_between_zero_and_one(mixed):
    assert SymmetricUncertainty().of(mixed["three"], mixed["three"]).value == pytest.approx(1.0)
    assert 0 < SymmetricUncertainty().of(mixed["number"], mixed["three"]).value < 1


# --------------------------------------------------------------------------------------------------------- every table


@pytest.mark.parametrize("measure", list(NAMED.values()))
@pytest.mark.parametrize("target", ["two", "three", "target"])
@pytest.mark.parametrize("kind", ["number", "levels", "ordinal"])
def test_every_pair_of_kinds_has_an_answer(mixed, measure, kind, target):
    found = measure().of(mixed[kind], mixed[target])
    assert np.isfinite(found.value)
    assert np.isfinite(found.order)
    noise = np.random.default_rng(0).permutation(mixed[kind].values)
    shuffled = Column("x", mixed[kind].kind, noise)
    assert measure().of(shuffled, mixed[target]).order < found.order


@pytest.mark.parametrize(
    "measure",
    [SignalToNoise(), MutualInformation(method="bins"), SymmetricUncertainty(), ChiSquare(), AnovaF(), Correlation(),
     Correlation(method="spearman"), CFSMerit()],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("target", ["two", "three", "target"])
@pytest.mark.parametrize("kind", ["number", "levels", "ordinal"])
def test_a_weight_of_two_is_the_row_twice(mixed, measure, kind, target):
    weight = np.random.default_rng(3).integers(1, 4, 400).astype(float)
    again = np.repeat(np.arange(400), weight.astype(int))
    x, y = mixed[kind], mixed[target]
    weighted = measure.of(x, y, weight)
    repeated = measure.of(Column("x", x.kind, x.values[again]), Column("y", y.kind, y.values[again]))
    assert weighted.value == pytest.approx(repeated.value, rel=1e-9)
    assert weighted.p_value == pytest.approx(repeated.p_value, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("measure", list(NAMED.values()))
def test_columns_without_spread_or_values_rank_last(measure):
    y = levels([0, 1, 0, 1, 0, 1])
    useful = measure().of(numbers([1, 2, 1, 2, 1, 3]), y).order
    for column in (numbers([2.0] * 6), levels([0] * 6), numbers([np.nan] * 6)):
        found = measure().of(column, y)
        assert not found.value > 0
        assert found.order < useful
    gone = Column("x", Kind("nominal", ("a",)), np.full(6, -1, dtype=np.int32))
    assert measure().of(gone, y).order == -np.inf


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="equal length"):
        Correlation().of(numbers([1.0, 2.0]), numbers([1.0]))


@pytest.mark.parametrize("wrong", [{"base": 0}, {"n_neighbors": 0}, {"method": "magic"}])
def test_illegal_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MutualInformation(**wrong)


def test_explained_share_is_the_adjusted_r_squared(mixed):
    x, y = mixed["number"].values, mixed["target"].values
    r2 = np.corrcoef(x, y)[0, 1] ** 2
    assert explained_share(mixed["number"], y) == pytest.approx(1 - (1 - r2) * 399 / 398, rel=1e-10)
    f = stats.f_oneway(*(y[mixed["levels"].values == g] for g in range(4))).statistic
    eta2 = 3 * f / (3 * f + 396)
    assert explained_share(mixed["levels"], y) == pytest.approx(1 - (1 - eta2) * 399 / 396, rel=1e-10)


def test_target_column_tells_classes_from_numbers():
    assert target_column(np.array([0, 1]), 2).kind.name == "nominal"
    assert target_column(np.array([0.5, 1.5])).kind.name == "numeric"
