"""Blends: the weights are the best there are, few, and judged on rows that had no part in them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tilth.evaluate.answers import Answers
from tilth.evaluate.blend import blend_loss, blend_weights, blended, blended_unseen, few_weights

CLASSES = np.array(["a", "b", "c"])


def numbers(seed=0, n=200, weight=None):
    rng = np.random.default_rng(seed)
    true = rng.normal(size=n)
    errors = rng.normal(size=(n, 3)) @ np.array([[1, 0.8, 0], [0, 0.6, 0], [0, 0, 1.5]])
    return [Answers(true, true + e, weight=weight) for e in errors.T]


def shares(seed=0, n=300, weight=None):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, n)
    found = []
    for sure in (2.0, 1.0, 0.3):
        score = rng.normal(size=(n, 3)) + sure * (np.arange(3) == true[:, None])
        p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        found.append(Answers(true, p.argmax(axis=1), p, classes=CLASSES, weight=weight))
    return found


def best_by_search(several):
    """The least loss on the simplex, found by another method from many starts."""
    m = len(several)
    found = [
        minimize(
            lambda w: blend_loss(several, np.abs(w) / np.abs(w).sum()), start, method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 5000},
        )
        for start in [np.full(m, 1 / m), *np.eye(m) * 0.9 + 0.05]
    ]  # fmt: skip
    return min(f.fun for f in found)


@pytest.mark.parametrize("make", [numbers, shares])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_other_weights_are_better(make, seed):
    several = make(seed)
    weights = blend_weights(several)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert blend_loss(several, weights) <= best_by_search(several) + 1e-7
    assert blend_loss(several, weights) <= min(blend_loss(several, e) for e in np.eye(3)) + 1e-12


@pytest.mark.parametrize("make", [numbers, shares])
def test_a_row_of_weight_two_is_the_row_given_twice(make):
    rng = np.random.default_rng(5)
    times = rng.integers(1, 4, make(0)[0].n)
    weighed = blend_weights(make(0, weight=times.astype(float)))
    repeated = blend_weights([a.rows(np.repeat(np.arange(a.n), times)) for a in make(0)])
    assert weighed == pytest.approx(repeated, abs=1e-6)


def test_models_that_err_alike_share_and_one_that_is_right_takes_all():
    first = numbers()[0]
    same = blend_weights([first, first])
    assert same.sum() == pytest.approx(1)
    right = Answers(first.true, first.true)
    assert blend_weights([first, right]) == pytest.approx([0, 1], abs=1e-6)
    assert blend_weights([right, right]).tolist() == [0.5, 0.5]


def test_few_models_are_kept_and_the_others_have_no_weight():
    several = [*shares(0), *shares(0), *shares(1)[2:]]
    found = few_weights(several, least=0.1, most=2)
    assert (found > 0).sum() <= 2
    assert found[found > 0].min() >= 0.1
    assert found.sum() == pytest.approx(1)
    assert few_weights(several[:1]).tolist() == [1.0]


def test_probabilities_are_averaged_and_the_largest_answers():
    several = shares()[:2]
    found = blended(several, np.array([0.25, 0.75]))
    p = 0.25 * several[0].probability + 0.75 * several[1].probability
    assert found.probability == pytest.approx(p)
    assert found.given.tolist() == p.argmax(axis=1).tolist()


@pytest.mark.parametrize("make", [numbers, shares])
def test_a_fold_has_no_part_in_the_weights_it_is_answered_by(make):
    whole = make()
    folds = [np.arange(whole[0].n) % 4 == k for k in range(4)]
    several = [[a.rows(np.flatnonzero(f)) for f in folds] for a in whole]
    asked = []

    def weights(others):
        asked.append(others[0].n)
        return blend_weights(others)

    found = blended_unseen(several, weights)
    assert asked == [whole[0].n - int(f.sum()) for f in folds]
    for k, fold in enumerate(folds):
        others = [a.rows(np.flatnonzero(~fold)) for a in whole]
        expected = blended([s[k] for s in several], blend_weights(others))
        assert np.array_equal(found[k].true, whole[0].true[fold])
        assert found[k].given == pytest.approx(expected.given)


def test_one_fold_is_parted_and_keeps_its_order():
    several = [[a] for a in numbers()]
    (found,) = blended_unseen(several, blend_weights)
    assert np.array_equal(found.true, several[0][0].true)
    assert blend_loss([found], np.ones(1)) >= blend_loss(
        [s[0] for s in several], blend_weights([s[0] for s in several])
    )


def test_groups_are_not_parted():
    group = np.repeat(np.arange(40), 5)
    several = [[Answers(a.true, a.given, group=group)] for a in numbers()]
    seen = []

    def weights(others):
        seen.append(set(others[0].group.tolist()))
        return blend_weights(others)

    blended_unseen(several, weights)
    assert all(len(s) == 32 for s in seen)  # four fifths of the groups, whole


def test_without_probabilities_there_is_no_blend_of_classes():
    true = np.array([0, 1])
    with pytest.raises(ValueError, match="gave none"):
        blend_weights([Answers(true, true, classes=CLASSES[:2])] * 2)


@pytest.mark.parametrize("make", [numbers, shares])
def test_the_loss_of_a_blend_is_weighted(make):
    times = np.random.default_rng(5).integers(0, 4, make(0)[0].n)
    weights = np.array([0.5, 0.3, 0.2])
    repeated = [a.rows(np.repeat(np.arange(a.n), times)) for a in make(0)]
    weighed = make(0, weight=times.astype(float))
    assert blend_loss(weighed, weights) == pytest.approx(blend_loss(repeated, weights))
    assert blend_loss(weighed, weights) != pytest.approx(blend_loss(make(0), weights), rel=1e-4)
    assert few_weights(weighed) == pytest.approx(few_weights(repeated), abs=1e-6)
