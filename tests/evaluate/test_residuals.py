import numpy as np
import pytest

from tilth.evaluate.answers import Answers
from tilth.evaluate.residuals import residuals


def made(noise, lean=0.0):
    rng = np.random.default_rng(101)
    given = np.sort(rng.uniform(1, 100, 500))
    return residuals(Answers(given + lean + noise(given), given))


def test_even_errors_have_nothing_to_say():
    rng = np.random.default_rng(102)
    found = made(lambda g: rng.normal(0, 2, len(g)))
    assert found.bias.low < 0 < found.bias.high
    assert found.spread_ratio < 2
    assert found.verdict().startswith("Nine of ten answers are off by -")
    assert "too" not in found.verdict()
    assert found.sections()[0].advice == ""


def test_a_lean_and_growing_errors_are_told():
    rng = np.random.default_rng(103)
    found = made(lambda g: rng.normal(0, 0.2 * g), lean=5.0)
    assert "too small" in found.verdict()
    assert "times those of small ones" in found.verdict()
    assert "logarithm" in found.sections()[0].advice


@pytest.mark.covers("PL-07")
def test_the_picture_shows_the_rows_of_the_answers():
    rng = np.random.default_rng(104)
    found = made(lambda g: rng.normal(0, 2, len(g)))
    first, second = found.plot().axes
    x, y = second.lines[0].get_data()
    place = np.searchsorted(found.given, x)
    np.testing.assert_allclose(y, found.residual[place])
    np.testing.assert_allclose(first.lines[0].get_ydata(), x + y)
    frame = found.frame()
    assert frame["rows"].sum() == 500
    assert np.average(frame["mean residual"], weights=frame["rows"]) == pytest.approx(found.residual.mean())


def test_classes_have_no_residuals():
    with pytest.raises(ValueError, match="these are classes"):
        residuals(Answers(np.array([0, 1]), np.array([0, 1]), classes=np.array(["a", "b"])))


def test_few_even_errors_are_seldom_called_uneven():
    rng = np.random.default_rng(0)
    said = sum(residuals(Answers(np.arange(20.0) + rng.normal(size=20), np.arange(20.0))).is_uneven for _ in range(200))
    assert said <= 20
