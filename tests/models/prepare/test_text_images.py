"""Words, texts and images as numbers, with their documented shapes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from tilth.models.prepare import OneHotWords, PixelVectors, WordCounts, WordVectors


@pytest.mark.covers("D-18", "WN-63")
def test_one_hot_words() -> None:
    model = OneHotWords().fit(["the", "cat", "sat", "on", "the", "mat"])
    assert model.vocabulary_ == ["cat", "mat", "on", "sat", "the"]
    rows = model.transform(["the", "cat", "sat", "dog"])
    assert ["".join(f"{v:.0f}" for v in row) for row in rows] == ["00001", "10000", "00010", "00000"]
    assert model.inverse_transform(rows).tolist() == ["the", "cat", "sat", ""]
    given = OneHotWords(vocabulary=["b", "a"], unseen="error").fit(["a"])
    assert given.transform(["b"]).tolist() == [[1.0, 0.0]]
    with pytest.raises(ValueError, match="'c' is not in the vocabulary"):
        given.transform(["a", "c"])
    with pytest.raises(ValueError, match="each once"):
        OneHotWords(vocabulary=["a", "a"]).fit(["a"])


def test_word_counts_feed_a_model_of_counts() -> None:
    texts = ["good good film", "a good plot", "bad film", "a bad bad end"]
    counts = WordCounts().fit_transform(texts)
    assert sparse.issparse(counts)
    assert counts.shape == (4, 6)
    model = make_pipeline(WordCounts(), MultinomialNB()).fit(texts, [1, 1, 0, 0])
    assert model.predict(["good end", "bad plot bad"]).tolist() == [1, 0]
    assert WordCounts(presence=True).fit_transform(["no no"]).toarray().tolist() == [[1.0]]
    assert WordCounts(min_texts=2).fit(texts).vocabulary_ == ["a", "bad", "film", "good"]


@pytest.mark.parametrize(
    "texts",
    [
        ["the cat", None, "mat"],
        np.array(["the cat", None, "mat"], dtype=object),
        pd.Series(["the cat", None, "mat"]),
        pd.DataFrame({"t": ["the cat", None, "mat"]}),
        {"t": ["the cat", None, "mat"]},
    ],
    ids=["list", "array", "series", "frame", "dict"],
)
def test_texts_may_come_in_any_form(texts: object) -> None:
    assert WordCounts().fit_transform(texts).toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    with pytest.raises(ValueError, match="1 texts are missing"):
        WordCounts(missing="error").fit(texts)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="put it in a list"):
        WordCounts().fit("one text")
    with pytest.raises(TypeError, match="found 3 of type int"):
        WordCounts().fit(["a", 3])
    with pytest.raises(ValueError, match="0 sample"):
        WordCounts().fit([])
    with pytest.raises(ValueError, match="the table has 2 columns"):
        WordCounts().fit(pd.DataFrame({"a": ["x"], "b": ["y"]}))


@pytest.mark.covers("D-18")
def test_word_vectors_put_words_used_alike_close() -> None:
    texts = [f"the {a} {verb} the {b}" for a in ("cat", "dog") for verb in ("sees", "hears") for b in ("cow", "pig")]
    texts += [f"we pay {n} {unit} now" for n in ("two", "six") for unit in ("euros", "pounds")]
    model = WordVectors(size=4).fit(texts)
    assert model.vectors_.shape == (len(model.vocabulary_), 4)
    cat, dog, euros, nothing = model.transform(["cat", "dog", "euros", "zzz"])

    def alike(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    assert alike(cat, dog) > 0.9 > 0.5 > alike(cat, euros)
    assert not nothing.any()
    np.testing.assert_allclose(model.transform(["cat dog"])[0], (cat + dog) / 2)
    assert model.get_feature_names_out().tolist() == [f"vector{i}" for i in range(4)]
    assert "WordVectors" in model.summary()


@pytest.mark.covers("D-18")
def test_pixels_become_rows_and_come_back() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 3, 3), dtype=np.uint8)
    model = PixelVectors().fit(images)
    rows = model.transform(images)
    assert rows.shape == (5, 36)
    assert rows.max() <= 1
    np.testing.assert_allclose(model.inverse_transform(rows) * 255, images)
    assert model.names_out_[:4] == ["pixel_0_0_0", "pixel_0_0_1", "pixel_0_0_2", "pixel_0_1_0"]
    grey = PixelVectors(scale=False).fit_transform(images[..., 0])
    np.testing.assert_array_equal(grey, images[..., 0].reshape(5, -1))
    with pytest.raises(ValueError, match="fitted on images of shape"):
        model.transform(images[:, :2])
    with pytest.raises(ValueError, match="n x height x width"):
        model.fit(images.reshape(5, -1))
