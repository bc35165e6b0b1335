import json
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages

import pandas as pd
import pytest

import tilth
from tilth import KMeans, NaiveBayes, evaluate
from tilth.base.result import Result
from tilth.data.datasets import load_weather


@dataclass(frozen=True)
class Tails(Result):
    n: int
    word: str = "<b>coin</b>"

    heading = "Tails of a <coin>"

    def verdict(self):
        return f"{self.n} tails of a {self.word}."

    def frame(self):
        return pd.DataFrame({"side": ["<i>tails</i>"], "share": [1 / 3], "method": ["counted"]})

    def remarks(self):
        return ["Tossed by hand."]


def test_words_numbers_and_pages_follow_from_verdict_and_frame():
    result = Tails(4)
    assert str(result) == repr(result)
    assert str(result).splitlines()[:2] == ["4 tails of a <b>coin</b>.", "Tossed by hand."]
    assert "0.3333" in str(result)
    assert "counted" not in str(result)
    (page,) = result.sections()
    assert page.title == "Tails of a <coin>"
    assert page.text == "4 tails of a <b>coin</b>.\n\nTossed by hand."
    assert json.loads(result.to_json())["verdict"] == result.verdict()


def test_notebooks_get_html_in_which_nothing_from_data_is_live():
    page = Tails(4)._repr_html_()
    assert "Tails of a &lt;coin&gt;" in page
    assert "&lt;b&gt;coin&lt;/b&gt;" in page
    assert "&lt;i&gt;tails&lt;/i&gt;" in page
    assert "<b>" not in page
    assert "<i>" not in page


def test_evaluations_and_models_show_themselves_in_notebooks():
    weather = load_weather().frame
    page = evaluate(NaiveBayes(), weather, "Play", folds=2)._repr_html_()
    assert "accuracy" in page
    assert "Zero-R" in page
    assert "KMeans" in KMeans(2)._repr_html_()


def subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def test_every_result_gives_a_verdict_and_a_frame():
    for module in walk_packages(tilth.__path__, "tilth."):
        if "__main__" not in module.name and not module.name.startswith("tilth.engines.neural"):
            import_module(module.name)
    classes = [c for c in subclasses(Result) if c.__module__.startswith("tilth.")]
    assert len(classes) > 40
    for cls in classes:
        if cls.__name__ == "Scores":  # what evaluations and comparisons share
            continue
        assert cls.verdict is not Result.verdict, cls
        assert cls.frame is not Result.frame, cls
        assert cls.heading or cls.sections is not Result.sections, cls
        assert "__repr__" in vars(cls), cls


@pytest.mark.parametrize("method", ["verdict", "frame"])
def test_a_result_without_words_or_numbers_is_none(method):
    with pytest.raises(NotImplementedError):
        getattr(Result(), method)()
