import json
import re

import numpy as np
import pandas as pd
import pytest

from tilth.base import Section
from tilth.report import show, to_html, to_json, to_markdown, to_text
from tilth.report.render import MOST_ROWS, cell_text, printable, table_text

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture
def sections():
    table = pd.DataFrame({"name": ["a", HOSTILE], HOSTILE: [0.123456, np.nan], "n": [3, 40]})
    return [
        Section("First", "Words about it.\n\n  laid   out\n  by     spaces", table, advice="Look again."),
        Section(HOSTILE, HOSTILE, code="print('<b>')"),
    ]


def test_html_is_one_page_that_needs_nothing_from_outside(sections):
    page = to_html(sections, title="A report", subtitle="2 rows")
    assert page.startswith("<!doctype html>")
    assert "A report" in page
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "<pre>  laid   out\n  by     spaces</pre>" in page


def test_markup_in_names_and_cells_is_inert(sections):
    # The page's own two scripts are all there are.
    ours = to_html([Section("Nothing")])
    page = to_html(sections, title=HOSTILE, subtitle=HOSTILE)
    assert page.count("<script") == page.count("</script") == ours.count("<script") == 2
    assert "alert('x')" not in page.replace("&lt;script&gt;alert(&#39;x&#39;)", "")
    embedded = to_html(sections, data=json.dumps({"name": "</script><script>alert(1)</script>"}))
    assert embedded.count("<script") == embedded.count("</script") == 3
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', embedded, re.DOTALL)
    assert json.loads(block[1]) == {"name": "</script><script>alert(1)</script>"}
    assert "<script" not in to_markdown(sections, title=HOSTILE)


def nested():
    inner = Section("Inner", "More words.", parts=[Section("Innermost", light="bad")])
    numbers = {
        "kind": "numbers",
        "numbers": [{"label": "gain", "value": "+4.6", "note": "2.1 to 7.2", "light": "good"}],
    }
    return [Section("Outer", light="warn", parts=[inner], control=numbers), Section("Next")]


def test_parts_are_deeper_titles_and_lights_are_words():
    text = to_text(nested(), width=80)
    assert "Outer [Check]\n-------------" in text
    assert "Inner\n~~~~~" in text
    assert "Innermost [Action needed]\n........................." in text
    assert "gain [OK]" in text
    titles = [line for line in to_markdown(nested()).split("\n") if line.startswith("#")]
    assert titles == [
        "# Report",
        "## Outer \\[Check\\]",
        "### Inner",
        "#### Innermost \\[Action needed\\]",
        "## Next",
    ]
    assert "+4.6" in to_markdown(nested())
    found = json.loads(to_json(nested()))["sections"][0]
    assert found["light"] == "warn"
    assert found["parts"][0]["parts"][0]["title"] == "Innermost"
    assert found["control"]["kind"] == "numbers"


def test_a_terminal_gets_parts_and_controls_too():
    terminal = _Terminal()
    show(nested(), terminal)
    text = "".join(terminal.written)
    assert text.index("Outer") < text.index("+4.6") < text.index("Innermost") < text.index("Next")


def test_joiners_stay_and_marks_of_direction_go():
    family = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}"
    assert printable(f"{family} \u200fa\u200e\ufeff") == f"{family} a"
    assert printable("a\u202eb\x00\ud800") == "a\ufffdb\ufffd\ufffd"


def test_endless_cells_are_cut_and_say_so():
    table = pd.DataFrame({"n" * 10_000: ["x" * 10_000, "a word " * 2000]})
    for render in (to_text, to_markdown, to_html):
        text = render([Section("t" * 10_000, frame=table)])
        assert "(10,000 characters)" in " ".join(text.split())
        assert len(text) < 100_000
    assert "x" * 10_000 in to_json([Section("T", frame=table)])


def test_markdown_tables_survive_bars_and_marks():
    table = pd.DataFrame({"a|b": ["x|y", "*bold* [link](u)"], "n": [1, 2]})
    text = to_markdown([Section("T", "# not a title", table)])
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert len(rows) == 4
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)
    assert "\\*bold\\* \\[link\\](u)" in text
    assert "\\# not a title" in text


def test_a_fence_outgrows_the_backticks_inside_it():
    text = to_markdown([Section("T", code="a ``` b")])
    assert "````text\na ``` b\n````" in text


def test_text_aligns_numbers_and_wraps_wide_cells():
    table = pd.DataFrame({"column": ["x", "y"], "value": [1.5, 20.25], "reason": ["short", "a long reason " * 12]})
    text = table_text(table, 80)
    assert max(len(line) for line in text.split("\n")) <= 80
    assert "    1.5" in text
    assert "  20.25" in text
    assert " ".join(text.split()).count("long") == 12


def test_text_has_every_part(sections):
    text = to_text(sections, width=80)
    for part in ("First\n-----\nWords about it.", "  laid   out", "Advice: Look again.", "    print('<b>')", "0.1235"):
        assert part in text


def test_control_characters_do_not_reach_a_terminal():
    evil = "red\x1b[31m\x07\x9b31m\u202ename"
    text = to_text([Section(evil, evil, pd.DataFrame({evil: [evil]}), advice=evil, code=evil)])
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert printable("a\nb") == "a\nb"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (float("nan"), ""), (pd.NA, ""), (1e9, "1000000000"), (float("inf"), "inf"),
        (np.float64(0.25), "0.25"), (np.int64(7), "7"), (np.True_, "yes"),
        ("two\nlines", "two lines"), (-0.00001234, "-1.234e-05"),
    ],
)  # fmt: skip
def test_cells_read_as_people_write(value, text):
    assert cell_text(value) == text


def test_long_tables_are_cut_with_a_word_about_it():
    long = pd.DataFrame({"x": range(MOST_ROWS + 5)})
    assert "5 more rows" in to_text([Section("T", frame=long)])
    assert "5 more rows" in to_html([Section("T", frame=long)])
    assert "5 more rows" in to_markdown([Section("T", frame=long)])
    assert len(json.loads(to_json([Section("T", frame=long)]))["sections"][0]["rows"]) == MOST_ROWS + 5


def test_empty_tables_and_empty_sections_render():
    empty = [Section("Empty", frame=pd.DataFrame(columns=["a", "b"])), Section("Nothing")]
    for render in (to_text, to_markdown, to_html, to_json):
        assert "Empty" in render(empty)


def test_json_holds_plain_values(sections):
    found = json.loads(to_json(sections))["sections"][0]
    assert found["rows"][0] == {"name": "a", HOSTILE: 0.123456, "n": 3}
    assert found["rows"][1][HOSTILE] is None


def test_a_figure_is_drawn_inline_and_the_same_each_time():
    from matplotlib.figure import Figure

    def draw():
        figure = Figure(figsize=(2, 2))
        figure.subplots().plot([1, 2], label=HOSTILE)
        figure.axes[0].legend()
        return figure

    first, second = (to_html([Section("Picture", figure=draw)]) for _ in range(2))
    assert first.count("<svg") == 1
    assert "<?xml" not in first
    assert HOSTILE not in first
    assert first == second
    assert "<svg" not in to_text([Section("Picture", figure=draw)])


class _Terminal:
    def __init__(self):
        self.written = []

    def isatty(self):
        return True

    def write(self, text):
        self.written.append(text)

    def flush(self):
        pass


def test_a_terminal_gets_drawn_tables_without_markup_being_obeyed(sections):
    terminal = _Terminal()
    sections.append(Section("[bold]x[/bold]", "[red]y[/red]"))
    show(sections, terminal)
    text = "".join(terminal.written)
    assert "[bold]x[/bold]" in text
    assert "[red]y[/red]" in text
    assert "Look again." in text


def test_words_of_a_cell_are_not_cut():
    cells = ["Self-emp-not-inc", "Least-squares classifier"]
    frame = pd.DataFrame(
        {"work": cells} | {f"column {j}": ["0.794 to 0.850 or so", "tie with the best"] for j in range(6)}
    )
    text = table_text(frame, 80)
    assert "Self-emp-not-inc" in text
    assert "Least-squares" in text
    assert max(map(len, text.split("\n"))) <= 90
