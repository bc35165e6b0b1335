"""The most frequent label: worked numbers, unknown words, and a real treebank."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tilth import MostFrequentTagger, read_sequences

FOLDER = Path(os.environ.get("TILTH_DATA", Path(__file__).parents[4] / "shared" / "data"))
TREEBANK = FOLDER / "sequence" / "treebank_pos.csv.gz"
WORDS = [["the", "walk"], ["to", "walk"], ["a", "walk"], ["talked"], ["barked"]]
TAGS = [["D", "N"], ["T", "V"], ["D", "N"], ["V"], ["V"]]


def labels(model, *words):
    return model.predict([list(words)])[0].tolist()


def test_shares_are_counts():
    model = MostFrequentTagger().fit(WORDS, TAGS)
    assert model.classes_.tolist() == ["D", "N", "T", "V"]
    np.testing.assert_allclose(model.predict_marginals([["walk"]])[0], [[0, 2 / 3, 0, 1 / 3]])
    assert labels(model, "walk", "to") == ["N", "T"]
    assert model.ambiguous(1)["share"].tolist() == pytest.approx([2 / 3])


def test_unknown_words_go_by_the_longest_known_ending():
    model = MostFrequentTagger().fit([["sing", "king"], ["thing"]], [["V", "N"], ["N"]])
    np.testing.assert_allclose(model.predict_marginals([["bing"]])[0], [[2 / 3, 1 / 3]])
    assert labels(MostFrequentTagger(suffix=4).fit([["asing", "bking"]], [["V", "N"]]), "dosing") == ["V"]


def test_where_nothing_is_known_words_seen_once_decide():
    model = MostFrequentTagger(suffix=0).fit(
        [["the", "the", "the", "dog", "cat", "runs"]], [["D", "D", "D", "N", "N", "V"]]
    )
    np.testing.assert_allclose(model.predict_marginals([["zzz"]])[0], [[0, 2 / 3, 1 / 3]])
    assert labels(model, "zzz") == ["N"]
    often = MostFrequentTagger(suffix=0).fit([["a", "a", "b", "b", "b"]], [["x", "x", "y", "y", "y"]])
    np.testing.assert_allclose(often.prior_, [0.4, 0.6])


def test_rare_levels_do_not_decide():
    words, tags = [["odd", "even", "even"]], [["X", "Y", "Y"]]
    assert labels(MostFrequentTagger(suffix=0).fit(words, tags), "odd") == ["X"]
    strict = MostFrequentTagger(suffix=0, min_count=2).fit(words * 2 + [["rare"]], tags * 2 + [["Z"]])
    assert labels(strict, "rare", "odd") == ["Z", "X"]  # the one word that was seen once gives the prior
    np.testing.assert_allclose(strict.prior_, [0, 0, 1])


def test_the_token_column_can_be_named():
    steps = {"s": [0, 0, 0], "shape": ["Aa", "aa", "aa"], "word": ["Ann", "sings", "rings"], "tag": ["N", "V", "V"]}
    data = read_sequences(steps, sequence="s")
    assert MostFrequentTagger().fit(data, "tag").columns_[:3] == ["shape", "word", "shape[-3:]"]
    assert MostFrequentTagger(token="word", suffix=1).fit(data, "tag").columns_ == ["shape", "word", "word[-1:]"]
    with pytest.raises(ValueError, match="no column 'nowhere'"):
        MostFrequentTagger(token="nowhere").fit(data, "tag")


@pytest.mark.skipif(not TREEBANK.exists(), reason="the treebank is not here")
def test_a_treebank_is_tagged_as_the_literature_says():
    frame = pd.read_csv(TREEBANK, keep_default_na=False)
    frame["sentence"] = frame["file"].astype(str) + "-" + frame["sentence_id"].astype(str)
    test = frame["file"] >= 150
    train, new = (
        read_sequences(part[["sentence", "position", "token", "pos"]], sequence="sentence", order="position")
        for part in (frame[~test], frame[test])
    )
    model = MostFrequentTagger().fit(train, "pos")
    assert 0.90 < model.score(new, "pos") < 0.94
    assert model.score(new, "pos") > MostFrequentTagger(suffix=0).fit(train, "pos").score(new, "pos") + 0.01
