import numpy as np
import pytest
from sklearn.model_selection import KFold

from tilth.evaluate.splits import Splits, make_splits
from tilth.stats.folds import fold_of_rows


@pytest.mark.covers("EV-05")
def test_three_folds_of_3000_rows():
    fold = fold_of_rows(3000, 3)
    assert np.bincount(fold).tolist() == [1000, 1000, 1000]
    assert not np.array_equal(fold, fold_of_rows(3000, 3, seed=1))
    assert np.array_equal(fold, fold_of_rows(3000, 3, seed=0))
    found = make_splits(3, np.arange(3000.0), task="regression")
    assert [(len(s.train), len(s.test)) for s in found] == [(2000, 1000)] * 3


@pytest.mark.covers("EV-06")
@pytest.mark.parametrize("folds", [2, 5, 7])
def test_stratified_folds_keep_class_shares(folds):
    classes = np.random.default_rng(0).choice(4, size=203, p=[0.5, 0.3, 0.15, 0.05])
    fold = fold_of_rows(len(classes), folds, classes=classes)
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for c in range(4):
        counts = np.bincount(fold[classes == c], minlength=folds)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("folds", [1, 6])
def test_impossible_folds_are_refused(folds):
    with pytest.raises(ValueError, match="at least 2 and at most the number of rows, 5"):
        fold_of_rows(5, folds)


def disjoint(found):
    for part in found:
        assert not set(part.train) & set(part.test)
        assert len(part.train)
        assert len(part.test)


@pytest.mark.covers("EV-03")
@pytest.mark.parametrize(("test_size", "name"), [(0.5, "50-50"), (0.2, "80-20"), (0.1, "90-10"), (0.3, "70-30")])
def test_holdout_sizes_are_exact(test_size, name):
    found = make_splits("holdout", np.arange(200.0), task="regression", test_size=test_size)
    (part,) = found.parts
    disjoint(found)
    assert len(part.test) == round(200 * test_size)
    assert len(part.train) + len(part.test) == 200
    assert found.name.startswith(name)


@pytest.mark.covers("EV-04")
@pytest.mark.parametrize("seed", range(5))
def test_a_stratified_holdout_keeps_the_shares(seed):
    classes = np.random.default_rng(seed).choice(3, size=301, p=[0.6, 0.3, 0.1])
    (part,) = make_splits("holdout", classes, test_size=0.2, seed=seed).parts
    counts = np.bincount(classes[part.test], minlength=3)
    assert np.abs(counts - np.bincount(classes) * len(part.test) / 301).max() <= 1


@pytest.mark.covers("EV-07")
def test_leave_one_out_makes_as_many_models_as_rows():
    found = make_splits("leave-one-out", np.arange(12.0), task="regression")
    assert len(found) == 12
    assert found.tested_once
    assert sorted(int(s.test[0]) for s in found) == list(range(12))


@pytest.mark.covers("EV-08", "U-02")
def test_repeated_random_splits():
    found = make_splits("random", np.array([0, 1] * 50), repeats=7, test_size=0.3)
    assert len(found) == 7
    assert {(len(s.train), len(s.test)) for s in found} == {(70, 30)}
    again, other = (make_splits("random", np.array([0, 1] * 50), repeats=7, test_size=0.3, seed=s) for s in (0, 1))
    assert all((a.test == b.test).all() for a, b in zip(found, again, strict=True))
    assert not any(np.array_equal(np.sort(a.test), np.sort(b.test)) for a, b in zip(found, other, strict=True))
    assert not found.tested_once
    disjoint(found)
    assert len({tuple(s.test) for s in found}) == 7


def test_the_bootstrap_tests_the_rows_it_did_not_draw():
    found = make_splits("bootstrap", np.arange(300.0), task="regression", repeats=40)
    disjoint(found)
    assert all(len(s.train) == 300 for s in found)
    share = np.mean([len(s.test) / 300 for s in found])
    assert share == pytest.approx((1 - 1 / 300) ** 300, abs=0.02)


def test_repeated_folds_are_different_folds():
    found = make_splits(5, np.array([0, 1] * 25), repeats=3)
    assert len(found) == 15
    assert found.kind == "repeated k-fold"
    assert len({tuple(s.test) for s in found}) == 15


@pytest.mark.parametrize("split", ["k-fold", "holdout", "random", "bootstrap", "leave-one-out"])
def test_groups_are_never_torn_apart(split):
    groups = np.repeat(np.arange(23), np.random.default_rng(0).integers(1, 9, 23))
    found = make_splits(split, np.arange(float(len(groups))), task="regression", groups=groups, repeats=3)
    for part in found:
        assert not set(groups[part.train]) & set(groups[part.test])
        assert len(part.test)


@pytest.mark.parametrize("folds", [2, 5])
def test_the_past_predicts_the_future(folds):
    time = np.random.default_rng(1).integers(0, 40, 200)
    found = make_splits("time", np.arange(200.0), task="regression", time=time, folds=folds)
    assert len(found) == folds
    assert found.tested_once
    for part in found:
        assert time[part.train].max() < time[part.test].min()
    (held,) = make_splits("holdout", np.arange(200.0), task="regression", time=time, test_size=0.25).parts
    assert time[held.train].max() < time[held.test].min()
    assert len(held.test) == pytest.approx(50, abs=12)


def test_few_moments_still_make_blocks():
    time = np.array([0] * 50 + [1, 2, 3])
    found = make_splits("time", np.arange(53.0), task="regression", time=time, folds=3)
    assert [len(s.test) for s in found] == [1, 1, 1]


def test_rows_of_a_tested_group_are_not_learned_from_the_past():
    time, groups = np.arange(40), np.arange(40) % 10
    with pytest.raises(ValueError, match="every group is also in the test rows"):
        make_splits("time", np.arange(40.0), task="regression", time=time, groups=groups, folds=2)


def test_splitters_and_pairs_are_taken_as_they_are():
    found = make_splits(KFold(4), np.arange(20.0), task="regression")
    assert len(found) == 4
    assert found.name == "KFold"
    pairs = make_splits([([0, 1], [2]), ([1, 2], [0])], np.arange(3.0), task="regression")
    assert [s.test.tolist() for s in pairs] == [[2], [0]]
    assert make_splits(pairs, np.arange(3.0)) is pairs


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"split": "kfold"}, "split must be one of"),
        ({"split": 1}, "folds must be at least 2"),
        ({"split": 21}, "at most the number of rows, 20"),
        ({"split": "random", "repeats": 0}, "repeats must be at least 1"),
        ({"split": "holdout", "test_size": 1.2}, "between 0 and 1"),
        ({"split": "time"}, "needs time="),
        ({"split": "k-fold", "time": np.arange(20)}, "would test on the past"),
        ({"split": 5, "groups": np.arange(20) % 3}, "5 folds need at least as many groups; there are 3"),
        ({"split": "k-fold", "groups": np.zeros(20)}, "there are 1"),
        ({"split": "leave-one-out", "groups": np.zeros(20)}, "at least 2 groups"),
        ({"split": "holdout", "groups": np.zeros(20)}, "at least 2 groups"),
        ({"split": "time", "time": np.zeros(20)}, "different times; there are 1"),
        ({"split": [([0], [25])]}, "names row 25; there are rows 0 to 19"),
        ({"split": [([0], [])]}, "both need one"),
        ({"split": []}, "no split"),
        ({"split": 3.5}, "split must be a name"),
        ({"split": Splits("x", "given", (), 5)}, "of 5 rows, but there are 20"),
    ],
)
def test_what_cannot_be_split_is_told(kwargs, match):
    with pytest.raises(ValueError, match=match):
        make_splits(y=np.arange(20.0), task="regression", **kwargs)


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="at least 2 rows"):
        make_splits("k-fold", np.zeros(1))


@pytest.mark.parametrize("split", ["k-fold", "holdout", "random", "bootstrap"])
def test_the_seed_decides_which_groups_go_together(split):
    groups = np.repeat(np.arange(24), 3)

    def tested(seed):
        parts = make_splits(split, np.arange(72) % 2, groups=groups, repeats=2, seed=seed)
        return [sorted(set(groups[part.test])) for part in parts]

    assert tested(0) == tested(0)
    assert tested(0) != tested(1)
