import base64
import hashlib
import re

import pandas as pd
import pytest

from tilth.base import Section
from tilth.report import to_html
from tilth.report.glossary import marked, terms


def policy(page):
    return re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")


def test_the_policy_allows_nothing_from_outside_and_our_scripts_by_their_hashes():
    page = to_html([Section("T")])
    allowed = dict(part.strip().split(" ", 1) for part in policy(page).split(";"))
    assert allowed["default-src"] == "'none'"
    assert allowed["img-src"] == "data:"
    assert allowed["form-action"] == allowed["base-uri"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert len(hashes) == 2
    assert allowed["script-src"].split() == [f"'sha256-{h}'" for h in hashes]


def test_the_first_sentence_of_the_verdict_leads():
    text = "Useful: 75.4% against 70.0% for always 'no', e.g. on Mondays. It misses half.\n\nMore."
    page = to_html([Section("Verdict", text, light="good"), Section("Next", "First. Second.")])
    lead = re.search(r'<p class="lead"[^>]*>(.*?)</p>', page, re.DOTALL)[1]
    assert (
        re.sub(r"<[^>]+>", "", lead).strip() == "Useful: 75.4% against 70.0% for always &#39;no&#39;, e.g. on Mondays."
    )
    assert page.count('class="lead"') == 1
    words = re.sub(r"<[^>]+>", "", page)
    assert words.index("It misses half.") < words.index("More.")


def test_lights_are_words_and_not_colour_alone():
    page = to_html([Section("A", light="good"), Section("B", light="warn"), Section("C", light="bad")])
    for word in ("(OK)", "(Check)", "(Action needed)"):
        assert page.count(word) >= 2  # In the contents and beside the title.


def test_parts_are_subsections_and_folded_sections_are_closed():
    deep = Section("A", parts=[Section("B", "b", parts=[Section("C", "c", folded=True)])])
    page = to_html([Section("Verdict"), deep, Section("Use", "words", folded=True)])
    assert re.search(r'<section id="s1">\s*<h2 dir="auto">A', page)
    assert re.search(r'<section id="s1-0" class="part">\s*<h3 dir="auto">B', page)
    assert re.search(r'<details class="fold">\s*<summary><h4 dir="auto">C', page)
    assert re.search(r'<section id="s2">\s*<details class="fold">\s*<summary><h2 dir="auto">Use', page)


def test_names_in_a_page_are_unique():
    frame = pd.DataFrame({"a": [1]})
    page = to_html([Section("A", "Zero-R", frame, parts=[Section("B", "Zero-R", frame)]), Section("C", frame=frame)])
    names = re.findall(r'\sid="([^"]+)"', page)
    assert len(names) == len(set(names))


def test_terms_are_explained_once_in_a_section_and_listed_once():
    page = to_html([Section("A", "Zero-R and again Zero-R."), Section("B", "Against Zero-R. The AUC.")])
    assert page.count('href="#term-zero-r"') == 2
    assert page.count('id="term-zero-r"') == page.count('id="term-auc"') == 1
    assert 'id="term-bias"' not in page
    assert 'id="glossary"' not in to_html([Section("A", "No such words.")])


def test_marked_pieces_join_to_the_text():
    text = "The nested cross-validation says Zero-R; biased columns and bleak ones are no term, bias is."
    pieces = marked(text, set())
    assert "".join(piece for piece, _ in pieces) == text
    assert [t.name for _, t in pieces if t] == ["nested resampling", "Zero-R", "bias"]


def test_the_glossary_has_each_spelling_once_and_says_sentences():
    found = set(terms().values())
    assert len(terms()) == sum(1 + len(t.also) for t in found)
    assert len({t.anchor for t in found}) == len(found)
    assert all(t.text.endswith(".") for t in found)


def test_a_picture_that_fails_costs_no_more_than_itself():
    def broken():
        raise RuntimeError("<b>no data</b>")

    page = to_html([Section("A", "Words stay.", figure=broken)])
    assert "Words stay." in page
    assert "could not be drawn (RuntimeError: &lt;b&gt;no data&lt;/b&gt;)" in page


def test_numbers_stand_right_and_only_long_tables_are_filtered():
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(16)], "score": range(16)})
    page = to_html([Section("A", frame=frame), Section("B", frame=frame.head(15))])
    assert page.count('class="number" dir="auto">15<') == 1
    assert page.count(" data-filter") == 1


@pytest.mark.parametrize("count", [0, 1])
def test_few_sections_are_a_page_too(count):
    assert to_html([Section("Only", "")][:count]).startswith("<!doctype html>")
