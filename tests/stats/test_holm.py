"""Holm's adjustment of several p-values."""

import numpy as np
import pytest

from tilth.stats.hypothesis import holm


def test_holm_never_falls_below_a_smaller_p_value():
    """Without the running maximum 0.03 x 1 would be adjusted to less than 0.02 x 2 and 0.016 x 3 before it."""
    np.testing.assert_allclose(holm([0.03, 0.016, 0.02, 0.001]), [0.048, 0.048, 0.048, 0.004])


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_smallest_level_at_which_the_steps_reject(seed):
    """By definition: step j rejects where every one of the first j sorted p-values is at most level / (m - i + 1)."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(12) ** 3, 2)  # rounded, so that some are equal
    p[rng.integers(12)] = np.nan
    adjusted = holm(p)
    m = int((~np.isnan(p)).sum())
    ranked = np.sort(p[~np.isnan(p)])
    for value, level in zip(p, adjusted, strict=True):
        if np.isnan(value):
            assert np.isnan(level)
            continue
        steps = [(m - i) * q for i, q in enumerate(ranked) if q <= value]
        assert level == pytest.approx(min(1.0, max(steps)))
