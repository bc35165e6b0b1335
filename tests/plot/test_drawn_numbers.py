"""Every drawing function draws the numbers it is given, to a file, whatever the names are."""

import numpy as np
import pandas as pd
import pytest

from tilth.data.kinds import Kind
from tilth.plot import (
    bayes,
    boosting,
    curves,
    decisions,
    leaderboard,
    learning,
    marks,
    monitoring,
    overview,
    paths,
    regression,
    rules,
    scores,
    search,
    selection,
    trees,
)

#: Names that a formula, a page or an axis might trip over.
ODD = ["$a$", "b $x^{", "<b>&", "a very long name indeed " * 4]


@pytest.fixture
def saved(tmp_path):
    def save(figure):
        figure.savefig(tmp_path / "picture.svg")
        return figure.axes[0]

    return save


def test_lines_are_the_curves(saved):
    x, plain = np.arange(5), {"a": np.arange(5.0), "b": np.arange(5.0)[::-1]}
    axes = saved(curves.curves(x, plain, "round", "error", mark_lowest="b"))
    assert [line.get_ydata().tolist() for line in axes.lines[:2]] == [v.tolist() for v in plain.values()]
    assert axes.lines[2].get_xdata() == [4, 4]
    axes = saved(boosting.loss_curve(plain, best=3))
    assert [line.get_ydata().tolist() for line in axes.lines[:2]] == [v.tolist() for v in plain.values()]


def test_scores_and_intervals_of_the_leaderboard(saved):
    told = [(0.8, 0.7, 0.9), (0.6, 0.5, 0.65), (0.5, np.nan, np.nan)]
    axes = saved(leaderboard.leaderboard(ODD[:3], told, [np.array([0.7, np.nan, 0.9])] * 3, "accuracy", baseline=0.5))
    dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    bars = [tuple(line.get_xdata()) for line in axes.lines if line.get_linewidth() == 3]
    assert dots == [v for v, _, _ in told]
    assert bars == [(0.7, 0.9), (0.5, 0.65)]


def test_cells_of_the_confusion_matrix(saved):
    values = np.array([[5.0, 1.0, 0.0], [2.0, 7.0, 1.0], [0.0, 0.0, 3.0]])
    axes = saved(scores.confusion_matrix(values, values / values.max(), ODD[:3], "actual", "predicted"))
    assert [float(t.get_text()) for t in axes.texts] == values.ravel().tolist()
    assert [t.get_text() for t in axes.get_yticklabels()] == ODD[:3]


def test_curves_of_scores(saved):
    x, y = np.linspace(0, 1, 9), np.linspace(0, 1, 9) ** 0.5
    axes = saved(scores.roc_curve(x, y, "AUC", point=(0.5, 0.7, "here"), band=(y - 0.1, y + 0.1)))
    assert np.allclose(axes.lines[1].get_xydata(), np.column_stack([x, y]))
    axes = saved(scores.precision_recall_curve(x, y, ODD[0], 0.3))
    assert np.allclose(axes.lines[1].get_xdata()[1:], x)


def test_class_distributions(saved):
    shares = pd.DataFrame(
        {("probability", level): [0.25, 0.75] for level in ODD[:2]}, index=pd.Index(ODD[:2], name=ODD[1])
    )
    axes = saved(bayes.class_distributions(ODD[0], shares, Kind("nominal", tuple(ODD[:2]))))
    assert [p.get_height() for p in axes.patches] == [0.25, 0.25, 0.75, 0.75]
    numbers = pd.DataFrame({"mean": [0.0, 2.0], "sd": [1.0, 0.5]}, index=pd.Index(["a", "b"], name="class"))
    axes = saved(bayes.class_distributions("x", numbers, Kind("numeric")))
    assert axes.lines[0].get_ydata().max() == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-3)


def test_shares_of_branches(saved):
    counts = np.array([[3.0, 1.0], [0.0, 6.0]])
    axes = saved(rules.branch_shares(ODD[:2], counts, ODD[1:3]))
    assert [p.get_width() for p in axes.patches] == counts.T.ravel().tolist()


def test_weights_and_their_intervals(saved):
    w = np.array([1.0, -2.0, 0.5])
    axes = saved(regression.weights_with_intervals(ODD[:3], w, w - 1, w + 1, 0.95))
    assert axes.lines[0].get_xdata().tolist() == w.tolist()
    assert [tuple(s[:, 0]) for s in axes.collections[0].get_segments()] == [(v - 1, v + 1) for v in w]


def test_paths_of_weights(saved):
    alphas = np.geomspace(1, 0.01, 6)
    coef = np.linspace(0, 1, 6)[:, None] * np.array([1.0, 0.0, -3.0])
    axes = saved(paths.weight_paths(alphas, coef, ODD[:3], chosen=0.1))
    drawn = [line.get_ydata() for line in axes.lines if len(line.get_ydata()) == 6]
    assert np.allclose(drawn, coef[:, [0, 2]].T)
    errors = np.random.default_rng(0).uniform(size=(6, 5))
    axes = saved(paths.error_path(alphas, errors, 0.1))
    assert np.allclose(axes.lines[0].get_ydata(), errors.mean(axis=1))


def test_thresholds_costs_and_reliability(saved):
    at = np.array([0.1, 0.3, 0.5, 0.7])
    rates = {"fpr": np.array([0.9, 0.6, 0.3, 0.1]), "recall": np.array([1.0, 0.9, 0.7, 0.4]), "positive rate": at[::-1]}
    axes = saved(decisions.threshold_curves(at, at**2, "cost", rates, 0.3, np.array([0.1, 0.5])))
    assert np.allclose(axes.lines[0].get_xydata(), np.column_stack([at, at**2]))
    axes = saved(decisions.cost_bars(np.array([[0.0, 1.0], [5.0, 0.0]]), ODD[:2]))
    assert [float(t.get_text()) for t in axes.texts] == [0, 1, 5, 0]
    axes = saved(decisions.reliability_plot({ODD[0]: (at, at**2)}, (at**2 - 0.1, at**2 + 0.1), at * 100))
    assert np.allclose(axes.lines[1].get_xydata(), np.column_stack([at, at**2]))


def test_intervals_coverage_and_scores(saved):
    y = np.arange(10.0)
    axes = saved(decisions.interval_plot(y, y - 1, y + 1, y + np.array([0.0] * 8 + [3.0, 0.0]), 0.9))
    outside = next(line for line in axes.lines if line.get_label() == "outside")
    assert outside.get_ydata().tolist() == [11.0]
    share = np.array([0.8, 0.95])
    axes = saved(decisions.coverage_bars(ODD[:2], share, share - 0.1, share + 0.05, 0.9, 0.95))
    assert axes.lines[0].get_xdata().tolist() == share.tolist()
    assert np.allclose(
        [s[:, 0] for s in axes.collections[0].get_segments()], np.column_stack([share - 0.1, share + 0.05])
    )
    axes = saved(decisions.score_histogram(y, 7.0, "score", 0.9))
    assert sum(p.get_height() for p in axes.patches) == 10
    assert axes.lines[0].get_xdata() == [7.0, 7.0]


def test_learning_pictures(saved):
    x = np.array([10, 20, 40])
    bands = {name: np.column_stack([v, v - 0.1, v + 0.1]) for name, v in (("seen", x / 50), ("other", x / 60))}
    axes = saved(learning.score_curves(x, bands, "rows", "accuracy", levels={"Zero-R": 0.3}, marks={"best": 2}))
    assert np.allclose(axes.lines[0].get_ydata(), bands["seen"][:, 0])
    assert np.allclose(axes.lines[1].get_ydata(), bands["other"][:, 0])
    axes = saved(learning.more_rows(x * 1.0, bands["other"], x * 2.0, bands["seen"], "accuracy", 0.95))
    assert any(np.allclose(line.get_ydata(), bands["seen"][:, 0]) for line in axes.lines if len(line.get_ydata()) == 3)


def test_search_pictures(saved):
    score = np.array([0.5, 0.7, 0.6])
    axes = saved(search.tries(np.arange(3), score, {"depth": (np.array([1, 2, 4]), True)}, "accuracy", chosen=1))
    assert axes.lines[0].get_ydata().tolist() == score.tolist()
    assert axes.lines[1].get_ydata().tolist() == [0.5, 0.7, 0.7]
    axes = saved(
        search.validation_curve([1, 2, 4], score, score - 0.1, score + 0.1, score + 0.2, "depth", "acc", best=2)
    )
    assert axes.lines[0].get_xydata().tolist() == [[1, 0.5], [2, 0.7], [4, 0.6]]


def test_selection_pictures(saved):
    path = pd.DataFrame(
        {"columns": [1, 2], "score": [0.6, 0.7], "low": [0.5, np.nan], "high": [0.7, np.nan], "chosen": [False, True],
         "column": ODD[:2], "seconds": [0.1, 0.2], "fits": [3, 2]}
    )  # fmt: skip
    axes = saved(selection.selection_path(path, "accuracy", 0.65))
    assert axes.lines[0].get_xydata().tolist() == [[1, 0.6], [2, 0.7]]
    axes = saved(selection.chosen_shares(ODD[:3], np.array([0.2, 0.9, 0.4]), ODD[0]))
    assert [p.get_width() for p in axes.patches] == [0.2, 0.4, 0.9]


def test_importance(saved):
    axes = saved(trees.importance_bars(ODD, np.array([0.4, 0.3, 0.2, np.nan]), "gain"))
    assert [p.get_width() for p in axes.patches] == [0.4, 0.3, 0.2, 0.0]


def test_small_pictures_of_new_rows_and_of_columns(saved):
    sizes = np.array([0.3, 0.1, 0.02])
    axes = saved(monitoring.change_sizes(ODD[:3], sizes, sizes / 10, sizes > 0.2, (0.1, 0.25)))
    dots = np.concatenate([line.get_xdata() for line in axes.lines if line.get_marker() == "o"])
    assert sorted(dots) == sorted(sizes)
    panel = overview.Panel(ODD[0], "", ODD[:3], np.array([3.0, 2.0, 1.0]), {ODD[1]: np.ones((3, 3)) / 2})
    axes = saved(overview.small_multiples([panel], usual=0.5, line_name=ODD[0]))
    assert marks.bar_heights(axes.patches[0]).tolist() == [3.0, 2.0, 1.0]


def test_many_bars_are_one_path_and_come_back():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    height = np.array([1.0, 0.0, 4.0])
    patch = marks.merged_bars(axes, np.arange(3.0), np.arange(3.0) + 0.9, height, bottom=np.array([1.0, 2.0, 0.5]))
    assert np.allclose(marks.bar_heights(patch), height)
    assert len(axes.patches) == 1
    assert axes.get_ylim()[1] >= 4.5


def test_powers_of_ten_stay_formulas():
    figure = paths.weight_paths(np.geomspace(1, 1e-3, 4), np.ones((4, 1)), ["a"])
    figure.canvas.draw()
    assert any(t.get_parse_math() for t in figure.axes[0].get_xticklabels())


def test_thinning_keeps_the_ends():
    assert marks.thinned(5, 9).tolist() == [0, 1, 2, 3, 4]
    kept = marks.thinned(10_000, 100)
    assert (kept[0], kept[-1], len(kept)) == (0, 9999, 100)
    assert marks.thinned(0, 5).size == 0
