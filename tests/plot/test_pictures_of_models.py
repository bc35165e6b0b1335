"""Tree diagrams, residuals, anomaly scores, ellipses: drawn numbers are those of their tables."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import mahalanobis

import tilth
from tilth.data.datasets import load
from tilth.engines.tree import text
from tilth.plot import mahalanobis_ellipses, score_map
from tilth.plot.trees import node_frame, tree_picture


@pytest.mark.covers("PL-06")
def test_the_table_of_nodes_holds_what_the_diagram_says(tmp_path):
    frame = load("titanic").frame
    model = tilth.CART(max_depth=3).fit(frame, "survived")
    drawn = text.boxes(model.trees_, model._voice())
    table = node_frame(drawn)
    assert len(table) == model.trees_.n_nodes
    leaves = table[table["question"] == ""]
    assert leaves["rows"].sum() == table.loc[0, "rows"] == len(frame)
    assert len(leaves) == model.get_n_leaves()
    inner = table[table["question"] != ""]
    for node in inner["node"]:
        assert table.loc[table["parent"] == node, "rows"].sum() == table.loc[node, "rows"]
    figure = model.plot()
    figure.savefig(tmp_path / "tree.svg")
    said = [t.get_text() for t in figure.axes[0].texts]
    for row in table.itertuples():
        assert any(f"{row.share:.0%} of {row.rows:.6g} row" in words for words in said)
    # The answers of the leaves are those of the model.
    reached = pd.Series(model.predict(frame.drop(columns="survived"))).value_counts()
    assert leaves.groupby("answer")["rows"].sum().to_dict() == {str(k): v for k, v in reached.items()}


@pytest.mark.covers("PL-06")
def test_class_shares_are_the_widths_of_the_bars():
    model = tilth.ID3().fit(load("weather").frame, load("weather").target)
    drawn = text.boxes(model.trees_, model._voice())
    figure = tree_picture(drawn, [str(c) for c in model.classes_])
    widths = [p.get_width() for p in figure.axes[0].patches if type(p).__name__ == "Rectangle"]
    for i, box in enumerate(drawn):
        own = np.array(widths[i * 2 : i * 2 + 2])
        assert np.allclose(own / own.sum(), box.shares)


@pytest.mark.covers("PL-07")
def test_residual_pictures_show_the_table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X @ [1.0, -2.0] + rng.normal(size=80)
    found = tilth.LinearRegression().fit(X, y).residuals(X, y)
    table = found.frame()
    figure = found.plot()
    figure.savefig(tmp_path / "residuals.svg")
    pairs = [("fitted", "residual"), None, ("fitted", None), ("leverage", "standard")]
    for axes, pair in zip(figure.axes, pairs, strict=True):
        dots = np.array(axes.lines[0].get_xydata())
        assert len(dots) == 80
        if pair is not None and pair[1] is not None:
            assert np.allclose(sorted(map(tuple, dots)), sorted(map(tuple, table[list(pair)].to_numpy())))
    quantiles = figure.axes[1].lines[0].get_ydata()
    assert np.allclose(quantiles, np.sort(table["standard"]))
    spread = np.array(figure.axes[2].lines[0].get_xydata())
    order = np.argsort(table["fitted"].to_numpy(), kind="stable")
    assert np.allclose(spread[:, 1], np.sqrt(np.abs(table["standard"].to_numpy()[order])))


@pytest.mark.covers("PL-07")
def test_residuals_agree_with_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=60)
    drawn = tilth.LinearRegression().fit(X, y).residuals(X, y).plot().axes[3].lines[0].get_xydata()
    peer = sm.OLS(y, sm.add_constant(X)).fit().get_influence()
    want = np.column_stack([peer.hat_matrix_diag, peer.resid_studentized_internal])
    assert np.allclose(sorted(map(tuple, drawn)), sorted(map(tuple, want)))


@pytest.fixture(scope="module")
def cloud() -> np.ndarray:
    rows = np.random.default_rng(0).multivariate_normal([1, -2], [[2, 1.2], [1.2, 1]], 300)
    rows[:4] += 6
    return rows


@pytest.mark.covers("PL-18")
def test_contours_of_the_anomaly_score(cloud, tmp_path):
    model = tilth.IsolationForest(contamination=0.03).fit(cloud)
    found = score_map(model, cloud, points=25)
    table = found.frame()
    assert np.allclose(table["score"], model.score_samples(table[["x0", "x1"]].to_numpy()))
    assert (found.row_frame()["anomaly"].to_numpy() == (model.predict(cloud) == -1)).all()
    assert found.row_frame().loc[:3, "anomaly"].all()
    figure = found.figure
    figure.savefig(tmp_path / "scores.png", dpi=40)
    crosses = next(line for line in figure.axes[0].lines if line.get_marker() == "x")
    assert len(crosses.get_xdata()) == found.row_frame()["anomaly"].sum()


@pytest.mark.covers("PL-18")
def test_scores_of_scikit_learn_are_drawn_too(cloud):
    from sklearn.ensemble import IsolationForest

    model = IsolationForest(random_state=0, n_estimators=20).fit(cloud)
    found = score_map(model, cloud, points=10)
    assert (found.row_frame()["anomaly"].to_numpy() == (model.predict(cloud) == -1)).all()


@pytest.mark.covers("PL-18")
def test_points_of_an_ellipse_have_its_distance(cloud, tmp_path):
    found = mahalanobis_ellipses(cloud, shares=(0.5, 0.95))
    inverse = np.linalg.inv(np.cov(cloud.T))
    table = found.frame()
    for row in table.iloc[::17].itertuples():
        assert mahalanobis((row.x0, row.x1), cloud.mean(axis=0), inverse) == pytest.approx(row.distance)
    peer = [mahalanobis(row, cloud.mean(axis=0), inverse) for row in cloud]
    assert np.allclose(found.row_frame()["distance"], peer)
    figure = found.figure
    figure.savefig(tmp_path / "ellipse.svg")
    ellipses = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 120]
    assert np.allclose(np.concatenate([line.get_xydata() for line in ellipses]), table[["x0", "x1"]])


@pytest.mark.covers("PL-18")
def test_a_share_of_a_normal_sample_lies_within_its_ellipse():
    rows = np.random.default_rng(3).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 20_000)
    found = mahalanobis_ellipses(rows, shares=(0.5, 0.9))
    for share, radius in zip(found.shares, found.radii, strict=True):
        assert (found.distance <= radius).mean() == pytest.approx(share, abs=0.01)


def test_ellipses_that_do_not_exist_are_refused(cloud):
    with pytest.raises(ValueError, match="on one line"):
        mahalanobis_ellipses(np.column_stack([cloud[:, 0], 2 * cloud[:, 0]]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        mahalanobis_ellipses(cloud, shares=[1.0])
    with pytest.raises(ValueError, match="at least 3 rows"):
        mahalanobis_ellipses(cloud[:2])
    gaps = cloud.copy()
    gaps[::2, 0] = np.nan
    assert len(mahalanobis_ellipses(gaps).rows) == 150
