import numpy as np
import pytest

from tilth.stats.folds import (
    blocks_of_rows,
    bootstrap,
    by_time,
    draw,
    fold_of_rows,
    holdout,
    pairs_from,
    pairs_of,
    repeat_seed,
    without,
)


@pytest.mark.parametrize(("n", "folds"), [(10, 2), (11, 3), (7, 7), (103, 10)])
def test_plain_folds_are_of_equal_size_and_hold_every_row_once(n, folds):
    sizes = np.bincount(fold_of_rows(n, folds, seed=3), minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    pairs = pairs_of(fold_of_rows(n, folds, seed=3))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in pairs])), np.arange(n))
    for train, test in pairs:
        assert np.array_equal(np.union1d(train, test), np.arange(n))
        assert not np.intersect1d(train, test).size


@pytest.mark.parametrize("with_groups", [False, True])
@pytest.mark.parametrize("with_classes", [False, True])
def test_the_seed_and_nothing_else_decides_the_folds(with_groups, with_classes):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 60) if with_classes else None
    groups = np.repeat(np.arange(20), 3) if with_groups else None
    several = [fold_of_rows(60, 4, classes=classes, groups=groups, seed=s) for s in (0, 0, 1)]
    assert np.array_equal(several[0], several[1])
    assert not np.array_equal(several[0], several[2])


def test_groups_stay_whole_and_no_fold_is_empty():
    rng = np.random.default_rng(1)
    groups = rng.choice(list("abcdefgh"), 200, p=[0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
    fold = fold_of_rows(200, 5, groups=groups)
    assert all(len(np.unique(fold[groups == g])) == 1 for g in np.unique(groups))
    assert np.bincount(fold, minlength=5).min() > 0
    with pytest.raises(ValueError, match="9 folds need as many groups; there are 8"):
        fold_of_rows(200, 9, groups=groups)


def test_groups_are_spread_so_that_classes_keep_their_shares():
    """Half of the groups hold one class, half the other: without their classes folds of one class come about."""
    groups = np.repeat(np.arange(20), 5)
    classes = np.repeat(np.arange(20) % 2, 5)
    fold = fold_of_rows(100, 5, classes=classes, groups=groups)
    assert [np.bincount(classes[fold == k]).tolist() for k in range(5)] == [[10, 10]] * 5
    loose = fold_of_rows(100, 5, groups=groups)
    assert [np.bincount(classes[loose == k], minlength=2).tolist() for k in range(5)] != [[10, 10]] * 5


@pytest.mark.parametrize(("n", "folds"), [(10, 3), (9, 3), (5, 5)])
def test_blocks_are_those_of_scikit_learns_unshuffled_folds(n, folds):
    from sklearn.model_selection import KFold

    pairs = pairs_of(blocks_of_rows(n, folds))
    for ours, theirs in zip(pairs, KFold(folds).split(np.zeros(n)), strict=True):
        assert np.array_equal(ours[0], theirs[0])
        assert np.array_equal(ours[1], theirs[1])


@pytest.mark.parametrize("share", [0.1, 0.37, 0.9])
def test_a_holdout_takes_its_share_of_every_class(share):
    classes = np.repeat([0, 1, 2], [150, 80, 20])
    train, test = holdout(250, share, classes=classes, seed=2)
    assert len(test) == round(share * 250)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(250))
    assert np.abs(np.bincount(classes[test], minlength=3) - share * np.array([150, 80, 20])).max() <= 1
    assert not np.array_equal(test, holdout(250, share, classes=classes, seed=3)[1])


def test_a_holdout_leaves_a_row_on_either_side_and_groups_whole():
    assert [len(part) for part in holdout(3, 0.01)] == [2, 1]
    assert [len(part) for part in holdout(3, 0.99)] == [1, 2]
    groups = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 20])
    for seed in range(10):
        train, test = holdout(35, 0.3, groups=groups, seed=seed)
        assert not np.intersect1d(groups[train], groups[test]).size
        assert len(train)
        assert len(test) >= min(round(0.3 * 35), 15)
    with pytest.raises(ValueError, match="at least 2 groups"):
        holdout(4, 0.5, groups=np.zeros(4))
    with pytest.raises(ValueError, match="at least 2 rows; got 1"):
        holdout(1, 0.5)


def test_drawn_rows_rise_and_differ():
    rows = draw(50, 20, seed=1)
    assert len(rows) == 20
    assert (np.diff(rows) > 0).all()
    assert [part.tolist() for part in without(np.array([3, 1]), 5)] == [[0, 2, 4], [1, 3]]


def test_the_bootstrap_draws_with_replacement_and_tests_the_rest():
    train, test = bootstrap(400, seed=0)
    assert len(train) == 400
    assert len(np.unique(train)) < 300
    assert np.array_equal(test, np.setdiff1d(np.arange(400), train))
    groups = np.repeat(np.arange(40), 10)
    train, test = bootstrap(400, groups=groups, seed=0)
    assert not np.intersect1d(groups[train], groups[test]).size
    with pytest.raises(ValueError, match="no row to test on"):
        bootstrap(1)


def test_folds_by_time_learn_from_the_past_alone():
    time = np.random.default_rng(4).integers(0, 30, 120)
    for train, test in by_time(time, 4):
        assert time[train].max() < time[test].min()
    ((train, test),) = by_time(time, 1, share=0.25)
    assert time[train].max() < time[test].min()
    assert 20 <= len(test) <= 40


def test_repeats_have_their_own_seeds():
    assert repeat_seed(5, 0) == 5
    assert len({repeat_seed(s, r) for s in range(5) for r in range(5)}) == 25


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (3, "row numbers is needed"),
        ([], "no split"),
        ([([0, 1], [])], "2 training and 0 test rows"),
        ([([0, 1], [4])], "names row 4; there are rows 0 to 3"),
        ([([-1, 1], [2])], "names row -1"),
    ],
)
def test_pairs_that_do_not_fit_the_rows_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        pairs_from(cv, 4)


def test_pairs_come_from_a_splitter_or_a_list():
    from sklearn.model_selection import KFold

    from_splitter = pairs_from(KFold(2), 4)
    from_list = pairs_from([([2, 3], [0, 1]), ([0, 1], [2, 3])], 4)
    assert [[p.tolist() for p in pair] for pair in from_splitter] == [[p.tolist() for p in pair] for pair in from_list]
