"""The boosting loop: what each round adds, by closed forms and brute force."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

from tilth import DecisionTreeRegressor, GradientBoostingClassifier, GradientBoostingRegressor, progress
from tilth.data.kinds import Kind
from tilth.data.table import Column, Table, numeric_table
from tilth.engines.tree.boost import Boosting, Sample, boost, keep_order, line_search, spread_upwards
from tilth.engines.tree.grow import Growth
from tilth.engines.tree.trees import ARRAYS, Trees
from tilth.parts.class_losses import Exponential, Logistic, Softmax
from tilth.parts.losses import Absolute, CustomLoss, Huber, Loss, Poisson, Quantile, Squared
from tilth.parts.ranking import Groups, LambdaRank, PairwiseLogistic

GROWTH = Growth(criterion="newton", order="best", max_leaves=6)


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 2)
    return numeric_table(X, ["a", "b", "c"]), X[:, 0] - 2 * (X[:, 1] > 0) + 0.3 * rng.normal(size=n)


def rounds(course, table):
    """Scores before each round, the leaf of each row in it, and the values of its nodes."""
    before = np.tile(course.start, (table.n_rows, 1))
    for r, after in enumerate(course.staged(table)):
        trees = course.trees[r * course.n_scores : (r + 1) * course.n_scores]
        yield before, trees.leaves(table), trees, after
        before = after


@pytest.mark.covers("Z-01")
def test_least_squares_fits_the_residual_of_every_stage():
    table, y = data()
    course = boost(Sample(table, y, None, Squared()), GROWTH, Boosting(8, rate=0.3))
    assert course.start == pytest.approx(y.mean())
    for before, leaves, trees, after in rounds(course, table):
        residual = y - before[:, 0]
        for leaf in np.unique(leaves):
            rows = leaves[:, 0] == leaf
            assert trees.value[leaf, 0] == pytest.approx(0.3 * residual[rows].mean())
        assert ((y - after[:, 0]) ** 2).mean() < (residual**2).mean()


@pytest.mark.covers("Z-04")
def test_newton_on_squared_error_is_plain_boosting():
    table, y = data()
    newton = boost(Sample(table, y, None, Squared()), GROWTH, Boosting(5, method="newton"))
    plain = boost(Sample(table, y, None, Squared()), GROWTH, Boosting(5, method="gradient"))
    np.testing.assert_allclose(newton.scores(table), plain.scores(table), rtol=1e-12)


@pytest.mark.covers("Z-04", "FX-26")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2", [0.0, 2.5])
def test_a_newton_leaf_answers_minus_g_over_h_plus_lambda(l2, weighted):
    table, y = data()
    y = (y > 0).astype(float)
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    growth = Growth(criterion="newton", order="best", max_leaves=6, l2=l2)
    course = boost(Sample(table, y, w, Logistic()), growth, Boosting(4, rate=0.5))
    scale = 1.0 if w is None else w
    for before, leaves, trees, _ in rounds(course, table):
        p = expit(before[:, 0])
        g, h = scale * (p - y), scale * p * (1 - p)
        for leaf in np.unique(leaves):
            rows = leaves[:, 0] == leaf
            assert trees.value[leaf, 0] == pytest.approx(-0.5 * g[rows].sum() / (h[rows].sum() + l2))


@pytest.mark.covers("Z-05")
@pytest.mark.parametrize("seed", range(4))
def test_the_first_split_is_the_one_of_highest_gain_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (15, 2)).astype(float)
    y = (rng.random(15) < 0.5).astype(float)
    table, l2 = numeric_table(X, ["a", "b"]), 0.7
    p = y.mean()
    g, h = p - y, np.full(15, p * (1 - p))

    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + l2)

    gains = {}
    for j in range(2):
        values = np.unique(X[:, j])
        for cut in (values[:-1] + values[1:]) / 2:
            left = X[:, j] <= cut
            gains[j, cut] = 0.5 * (score(left) + score(~left) - score(np.ones(15, bool)))
    best = max(gains.values())
    sample = Sample(table, y, None, Logistic())

    def stump(gamma):
        growth = Growth(criterion="newton", order="best", max_leaves=2, l2=l2, min_gain=gamma)
        return boost(sample, growth, Boosting(1, rate=1.0)).trees

    tree = stump(0.0)
    assert gains[int(tree.column[0]), float(tree.threshold[0])] == pytest.approx(best)
    left = X[:, tree.column[0]] <= tree.threshold[0]
    for rows, node in ((left, tree.child[0]), (~left, tree.child[0] + 1)):
        assert tree.value[node, 0] == pytest.approx(-g[rows].sum() / (h[rows].sum() + l2))
    assert stump(0.99 * best).n_nodes == 3, "a split that gains more than gamma is made"
    assert stump(1.01 * best).n_nodes == 1, "one that gains less is not"


@pytest.mark.covers("Z-03")
@pytest.mark.parametrize(
    "loss", [Squared(), Absolute(), Huber(delta=0.5), Quantile(q=0.2), Logistic(), Exponential()], ids=repr
)
def test_the_step_of_a_stage_has_the_least_loss(loss):
    rng = np.random.default_rng(0)
    y = rng.normal(size=60) if loss.serves == "numbers" else (rng.random(60) < 0.5).astype(float)
    eta, weight = 0.3 * rng.normal(size=60), rng.random(60)
    direction = -loss.gradient(y, eta) + 0.2 * rng.normal(size=60)
    step = line_search(loss, y, eta, direction, weight)
    assert step > 0
    least = loss.mean(y, eta + step * direction, weight)
    for other in np.linspace(0.8, 1.2, 41) * step:
        assert least <= loss.mean(y, eta + other * direction, weight) + 1e-12
    assert line_search(loss, y, eta, -direction, weight) == 0.0, "uphill there is no step"


@pytest.mark.covers("Z-03")
@pytest.mark.parametrize("loss", [Absolute(), Quantile(q=0.8), Huber(delta=0.3), Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_step_of_a_leaf_has_the_least_loss(loss, weighted):
    table, y = data()
    y = y if loss.serves == "numbers" else (y > 0).astype(float)
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    course = boost(Sample(table, y, w, loss), GROWTH, Boosting(3, rate=1.0, method="gradient"))
    for before, leaves, trees, _ in rounds(course, table):
        for leaf in np.unique(leaves):
            rows = leaves[:, 0] == leaf
            weight = None if w is None else w[rows]
            value = trees.value[leaf, 0]
            least = loss.mean(y[rows], before[rows, 0] + value, weight)
            for other in value + np.linspace(-0.2, 0.2, 21):
                assert least <= loss.mean(y[rows], before[rows, 0] + other, weight) + 1e-9


@pytest.mark.covers("Z-02", "Z-03")
@pytest.mark.parametrize("loss", [Squared(), Absolute(), Quantile(q=0.7), Logistic(), Poisson()], ids=repr)
@pytest.mark.parametrize("search", ["leaf", "stage"])
def test_every_stage_lowers_any_loss(loss, search):
    table, y = data()
    if loss.serves != "numbers":
        y = (y > 0).astype(float)
    elif isinstance(loss, Poisson):
        y = np.floor(np.exp(np.clip(y, -2, 2)))
    course = boost(Sample(table, y, None, loss), GROWTH, Boosting(6, rate=0.5, method="gradient", line_search=search))
    losses = [loss.mean(y, np.full(len(y), course.start[0]))]
    losses += [loss.mean(y, eta[:, 0]) for eta in course.staged(table)]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(losses))
    assert losses[-1] < 0.95 * losses[0]


@pytest.mark.covers("Z-02")
@pytest.mark.parametrize("method", ["newton", "gradient"])
def test_any_regressor_can_be_boosted(method):
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    table, y = data()
    for learner in (LinearRegression(), DecisionTreeRegressor(max_depth=2)):
        for loss, target in ((Squared(), y), (Logistic(), (y > 0).astype(float)), (Absolute(), y)):
            sample = Sample(table, target, None, loss)
            course = boost(sample, GROWTH, Boosting(5, rate=0.5, method=method), learner=learner)
            assert course.n_rounds == len(course.learners) == 5
            first = loss.mean(target, np.full(len(y), course.start[0]))
            assert loss.mean(target, course.scores(table)[:, 0]) < 0.9 * first
            np.testing.assert_allclose(list(course.staged(table))[-1], course.scores(table))


def test_least_squares_with_linear_learners_ends_at_least_squares():
    from sklearn.linear_model import LinearRegression

    table, y = data()
    course = boost(Sample(table, y, None, Squared()), GROWTH, Boosting(60, rate=0.5), learner=LinearRegression())
    whole = LinearRegression().fit(table.numbers(), y).predict(table.numbers())
    np.testing.assert_allclose(course.scores(table)[:, 0], whole, atol=1e-9)


def test_a_learner_without_weights_cannot_take_them():
    from sklearn.neighbors import KNeighborsRegressor

    table, y = data()
    sample = Sample(table, (y > 0).astype(float), None, Logistic())
    with pytest.raises(ValueError, match="takes no sample_weight"):
        boost(sample, GROWTH, Boosting(2), learner=KNeighborsRegressor())
    course = boost(sample, GROWTH, Boosting(2, method="gradient"), learner=KNeighborsRegressor())
    assert course.n_rounds == 2


@pytest.mark.covers("Z-06")
def test_a_custom_objective_is_the_built_in_one():
    table, y = data()
    y = (y > 0).astype(float)
    own = CustomLoss(function=lambda y, s: (expit(s) - y, expit(s) * expit(-s)))
    a = boost(Sample(table, y, None, own), GROWTH, Boosting(10))
    b = boost(Sample(table, y, None, Logistic()), GROWTH, Boosting(10))
    np.testing.assert_allclose(a.scores(table), b.scores(table), atol=1e-9)

    class Cosh(Loss):
        """log cosh of the residual, written by a user."""

        def value(self, y, eta):
            return np.log(np.cosh(eta - y))

        def gradient(self, y, eta):
            return np.tanh(eta - y)

        def hessian(self, y, eta):
            return 1 / np.cosh(eta - y) ** 2

    table, y = data()
    steady = Growth(criterion="newton", order="best", max_leaves=6, min_rows_leaf=5, l2=1.0)
    course = boost(Sample(table, y, None, Cosh()), steady, Boosting(60))
    assert Cosh().mean(y, course.scores(table)[:, 0]) < 0.2 * Cosh().mean(y, np.full(len(y), y.mean()))


def test_softmax_grows_a_tree_for_every_class():
    table, y = data()
    codes = np.digitize(y, [-1, 0.5]).astype(np.int32)
    loss = Softmax(k=3)
    for method in ("newton", "gradient"):
        course = boost(Sample(table, codes, None, loss), GROWTH, Boosting(6, rate=0.3, method=method))
        assert course.trees.n_trees == 18
        np.testing.assert_array_equal(course.trees.output, np.tile([0, 1, 2], 6))
        stages = list(course.staged(table))
        np.testing.assert_allclose(stages[-1], course.scores(table))
        losses = [loss.mean(codes, eta) for eta in stages]
        assert losses == sorted(losses, reverse=True)
    before, leaves, trees, _ = next(
        rounds(boost(Sample(table, codes, None, loss), GROWTH, Boosting(1, rate=1.0)), table)
    )
    g, h = loss.gradient(codes, before), loss.hessian(codes, before)
    for c in range(3):
        leaf = leaves[0, c]
        rows = leaves[:, c] == leaf
        assert trees.value[leaf, 0] == pytest.approx(-g[rows, c].sum() / h[rows, c].sum())


@pytest.mark.covers("Z-02")
@pytest.mark.parametrize("loss", [PairwiseLogistic(), LambdaRank()], ids=repr)
@pytest.mark.parametrize("method", ["newton", "gradient"])
def test_a_ranking_loss_plugs_in(loss, method):
    table, y = data(200)
    grades = np.digitize(y, [-1.5, 0, 1]).astype(float)
    grouped = loss.grouped(Groups.of_sizes([20] * 10))
    course = boost(Sample(table, grades, None, grouped), GROWTH, Boosting(20, method=method))
    start = grouped.mean(grades, np.random.default_rng(0).normal(size=200))
    assert grouped.mean(grades, course.scores(table)[:, 0]) < 0.6 * start


def test_the_same_seed_gives_the_same_model_and_goes_on_where_it_stopped():
    table, y = data(300)
    sample = Sample(table, y, None, Squared())
    rules = {"subsample": 0.6, "tree_columns": 0.7, "seed": 5}
    whole = boost(sample, GROWTH, Boosting(9, **rules))
    again = boost(sample, GROWTH, Boosting(9, **rules))
    np.testing.assert_array_equal(whole.scores(table), again.scores(table))
    half = boost(sample, GROWTH, Boosting(4, **rules))
    rest = boost(sample, GROWTH, Boosting(9, **rules), before=half)
    np.testing.assert_allclose(rest.scores(table), whole.scores(table), rtol=1e-12)
    other = boost(sample, GROWTH, Boosting(9, **{**rules, "seed": 6}))
    assert not np.array_equal(other.scores(table), whole.scores(table))
    np.testing.assert_array_equal(whole.first_rounds(4).scores(table), half.scores(table))


def test_each_tree_asks_only_its_own_columns():
    table, y = data(300)
    course = boost(Sample(table, y, None, Squared()), GROWTH, Boosting(12, tree_columns=0.34))
    for tree in course.trees:
        assert len(set(tree.column[tree.column >= 0].tolist())) <= 1
    assert len(set(course.trees.column.tolist())) == 4, "over the rounds every column has its turn"


@pytest.mark.covers("Z-15")
def test_held_out_rows_decide_when_to_stop():
    rng = np.random.default_rng(0)
    table, y = data(400)
    y = y + 2 * rng.normal(size=400)
    train, held = np.arange(200), np.arange(200, 400)
    sample, test = (Sample(table.rows(i), y[i], None, Squared()) for i in (train, held))
    watched = boost(sample, GROWTH, Boosting(200, rate=0.3), held=test)
    assert watched.losses.shape == (200, 2)
    assert watched.n_rounds == 200, "watching alone changes nothing"
    best = int(watched.losses[:, 1].argmin()) + 1
    assert best < 100, "the noise is learned in the end"
    assert watched.losses[-1, 0] < watched.losses[best, 0], "on the training rows the loss goes on falling"
    stopped = boost(sample, GROWTH, Boosting(200, rate=0.3, patience=20), held=test)
    assert stopped.n_rounds == best
    assert best < len(stopped.losses) <= best + 20
    np.testing.assert_array_equal(stopped.scores(table), watched.first_rounds(best).scores(table))
    staged = [test.mean_loss(np.asfortranarray(eta)) for eta in stopped.staged(test.table)]
    np.testing.assert_allclose(staged, stopped.losses[:best, 1])


def test_scores_to_begin_with_are_taken_off_the_target():
    table, y = data()
    offset = np.random.default_rng(0).normal(size=(len(y), 1))
    a = boost(Sample(table, y, None, Squared(), offset), GROWTH, Boosting(5))
    assert a.start == 0
    b = boost(Sample(table, y - offset[:, 0], None, Squared(), np.zeros_like(offset)), GROWTH, Boosting(5))
    np.testing.assert_allclose(a.scores(table), b.scores(table), rtol=1e-9)


@pytest.mark.parametrize("loss", [Squared(), Absolute(), Quantile(q=0.3)], ids=repr)
def test_a_monotone_column_stays_monotone_whatever_the_leaves_answer(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=400)
    table = numeric_table(X, ["a", "b"])
    growth = Growth(criterion="newton", order="best", max_leaves=12, monotone=(1, 0))
    course = boost(Sample(table, y, None, loss), growth, Boosting(30, rate=0.3))
    line = np.linspace(-2, 2, 200)
    for b in (-1.0, 0.0, 1.5):
        answer = course.scores(numeric_table(np.column_stack([line, np.full(200, b)]), ["a", "b"]))[:, 0]
        assert (np.diff(answer) >= -1e-12).all()
    free = boost(Sample(table, y, None, loss), Growth(criterion="newton", order="best", max_leaves=12), Boosting(30))
    assert (np.diff(free.scores(numeric_table(np.column_stack([line, 0 * line]), ["a", "b"]))[:, 0]) < 0).any()


def test_inner_nodes_answer_with_the_average_below_them():
    table, y = data()
    course = boost(Sample(table, y, None, Absolute()), GROWTH, Boosting(1, rate=1.0))
    tree = course.trees
    value = np.where(tree.test == 0, tree.value[:, 0], np.nan)
    spread_upwards(tree, value)
    np.testing.assert_allclose(value, tree.value[:, 0])
    shares = np.bincount(tree.leaves(table)[:, 0], minlength=tree.n_nodes) / table.n_rows
    assert value[0] == pytest.approx(shares @ np.where(tree.test == 0, value, 0.0))
    keep_order(tree, value, (1, 1, 1))
    assert np.isfinite(value).all()


def test_levels_and_missing_values_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 4, 300).astype(np.int32)
    x = np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300))
    table = Table([Column("x", Kind("numeric"), x), Column("c", Kind("nominal", tuple("abcd")), codes)], 300)
    y = np.array([0.0, 3.0, -3.0, 1.0, 7.0])[codes] + np.where(np.isnan(x), 5.0, x)
    course = boost(
        Sample(table, y, None, Squared()), Growth(criterion="newton", order="best", max_leaves=31), Boosting(80)
    )
    assert np.mean((course.scores(table)[:, 0] - y) ** 2) < 0.05 * y.var()


def test_scores_without_bounds_are_refused():
    table, y = data()
    wild = CustomLoss(function=lambda y, s: (np.full_like(s, -1e150), np.full_like(s, 1e-160)))
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="beyond all bounds"),
    ):
        boost(Sample(table, y, None, wild, np.zeros((len(y), 1))), GROWTH, Boosting(50, rate=1.0))


def test_progress_is_told():
    table, y = data()
    seen = []
    with progress.listen(seen.append):
        boost(Sample(table, y, None, Squared()), GROWTH, Boosting(3), title="Rounds")
    assert [event["done"] for event in seen if event["title"] == "Rounds"][-1] == 3


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (GradientBoostingClassifier(n_estimators=8), 2),
        (GradientBoostingClassifier(n_estimators=4), 3),
        (GradientBoostingClassifier(n_estimators=6, subsample=0.5, line_search="leaf"), 2),
        (GradientBoostingRegressor(n_estimators=8), 0),
        (GradientBoostingRegressor(n_estimators=6, loss="absolute_error"), 0),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_in_blocks_are_boosted_as_all_at_once(monkeypatch, model, classes, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 4))
    eta = X[:, 0] + X[:, 1] * X[:, 2]
    y = eta + 0.3 * rng.normal(size=len(X)) if classes == 0 else np.digitize(eta, np.linspace(-1, 1, classes + 1)[1:-1])
    weight = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    blocks = clone(model).fit(X, y, sample_weight=weight)
    monkeypatch.setattr("tilth.engines.tree.boost.STAGED_ROWS", 10**9)
    whole = clone(model).fit(X, y, sample_weight=weight)
    answer = "predict_proba" if classes else "predict"
    a, b = getattr(blocks, answer)(X), getattr(whole, answer)(X)
    assert np.abs(a - b).mean() < 0.01 * b.std()  # single floats and rounded sums, and a near-tie decided otherwise


def test_joined_trees_may_leave_their_parts_empty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    parts = [DecisionTreeRegressor(max_depth=d).fit(X, X[:, 0] * X[:, 1]).trees_ for d in (2, 4, 3)]
    kept = Trees.join(parts)
    moved = Trees.join(parts, release=True)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(kept, name), getattr(moved, name))
        assert getattr(kept, name).dtype == getattr(moved, name).dtype
    assert parts[0].n_nodes == 0
    kept.validate()


def test_a_fall_of_the_held_out_loss_below_tol_does_not_count():
    table, y = data(400)
    sample, test = (Sample(table.rows(i), y[i], None, Squared()) for i in (np.arange(200), np.arange(200, 400)))
    falling = boost(sample, GROWTH, Boosting(40, rate=0.05, patience=3), held=test)
    assert len(falling.losses) == 40, "every round still helps a little"
    falls = -np.diff(falling.losses[:, 1])
    tol = float(falls[9:12].sum()) * 1.001  # three rounds from the tenth on together fall by less
    course = boost(sample, GROWTH, Boosting(40, rate=0.05, patience=3, tol=tol), held=test)
    assert 4 <= len(course.losses) < 40
    assert len(boost(sample, GROWTH, Boosting(40, rate=0.05, patience=3, tol=1e9), held=test).losses) == 4
