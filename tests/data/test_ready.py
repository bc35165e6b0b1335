"""``missing="ready"``: as auto, and prepared for missing values in columns that have none yet."""

import numpy as np
import pandas as pd
import pytest

from tilth import LogisticRegression
from tilth.errors import SchemaError

rng = np.random.default_rng(5)
FRAME = pd.DataFrame({
    "age": rng.normal(40, 10, 60), "job": rng.choice(["cook", "nurse", "smith"], 60),
    "size": pd.Categorical(rng.choice(["small", "mid", "large"], 60), ["small", "mid", "large"], ordered=True),
})  # fmt: skip
Y = np.where(FRAME["age"] + rng.normal(0, 5, 60) > 40, "yes", "no")
del rng  # tests draw from generators of their own
HOLES = FRAME.head(3).astype({"size": object}).assign(age=[np.nan, 30.0, 50.0], job=["cook", None, "nurse"])


def test_without_it_a_missing_value_that_training_never_saw_is_refused():
    with pytest.raises(SchemaError, match="learned no replacement for 'age'"):
        LogisticRegression().fit(FRAME, Y).predict(HOLES)


def test_ready_models_fill_in_the_median_or_the_commonest_level():
    model = LogisticRegression(missing="ready").fit(FRAME, Y)
    filled = HOLES.assign(age=HOLES["age"].fillna(FRAME["age"].median()),
                          job=HOLES["job"].fillna(FRAME["job"].mode()[0]))  # fmt: skip
    np.testing.assert_array_equal(model.predict_proba(HOLES), model.predict_proba(filled))


def test_a_table_without_missing_values_gives_the_weights_of_auto():
    ready, auto = (LogisticRegression(missing=m).fit(FRAME, Y) for m in ("ready", "auto"))
    np.testing.assert_allclose(ready.coef_, auto.coef_, rtol=1e-9)


def test_columns_with_missing_values_are_treated_as_auto_treats_them():
    holed = FRAME.assign(age=FRAME["age"].mask(FRAME.index % 7 == 0))
    ready, auto = (LogisticRegression(missing=m).fit(holed, Y) for m in ("ready", "auto"))
    np.testing.assert_allclose(ready.coef_, auto.coef_, rtol=1e-9)
    assert "age_missing" in ready.plan_.outputs
