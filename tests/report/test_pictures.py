import re
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from tilth.report.pictures import PALETTE, Pictures, dark_of

FONT_GLYPHS = re.compile(r'id="p\d+-\d+" d="[^"]*" transform="scale\(0.015625\)"')


def drawn(title="title", label="label", colour="C0"):
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.plot([1, 2, 3], [1, 3, 2], "o-", label=label, color=colour)
    axes.set_title(title)
    axes.legend()
    return figure


def texts(svg):
    found = []

    class Reader(HTMLParser):
        inside = False

        def handle_starttag(self, tag, attributes):
            self.inside = tag == "text"

        def handle_data(self, data):
            if self.inside:
                found.append(data)

        def handle_endtag(self, tag):
            self.inside = False

    Reader().feed(svg)
    return found


def test_words_are_text_with_the_width_they_were_given():
    svg = Pictures().svg(lambda: drawn("A title", "a <b> & c"), "About")
    assert {"A title", "a <b> & c"} <= set(texts(svg))
    assert not FONT_GLYPHS.search(svg)
    assert 'textLength="' in svg
    assert '<title id="p1-title">About</title>' in svg
    assert 'role="img"' in svg


@pytest.mark.parametrize("words", ["\N{GRINNING FACE} emoji", "bell\x07 and \x1b[31m", "שלום", "right\u202eleft"])
def test_odd_letters_are_drawn_without_a_warning(words):
    svg = Pictures().svg(lambda: drawn(words), words)
    assert len(texts(svg)) > 5
    assert not [c for c in svg if not c.isprintable() and c not in "\n\u200d"]


def test_formulas_and_double_hyphens_stay_as_drawn():
    for formula in (r"$x^2$", r"$\alpha$"):
        svg = Pictures().svg(lambda words=formula: drawn(words), "")
        assert FONT_GLYPHS.search(svg)
        assert formula not in texts(svg)
    svg = Pictures().svg(lambda: drawn("a--b"), "")
    assert FONT_GLYPHS.search(svg)
    assert "a- -b" not in svg


def test_names_are_unique_in_a_page_and_every_reference_has_its_target():
    pictures = Pictures()
    page = "".join(pictures.svg(lambda: drawn(r"$y_1$"), "same") for _ in range(3))
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))
    pointed = re.findall(r'(?:href="#|url\(#)([^")]+)', page)
    assert pointed
    assert set(pointed) <= set(names)


def test_equal_figures_are_equal_text_without_dates():
    first, second = (Pictures().svg(drawn, "same") for _ in range(2))
    assert first == second
    assert "metadata" not in first
    assert not re.search(r"\d\.\d{3}", re.sub(r"scale\([^)]*\)", "", first))


def test_every_colour_has_a_value_for_a_light_and_a_dark_page():
    pictures = Pictures()
    svg = pictures.svg(lambda: drawn(colour="#123456"), "")
    used = set(re.findall(r"var\(--p([0-9a-f]{6})\)", svg))
    assert used == {name[1:] for name in pictures.colours}
    assert "123456" in used
    assert not re.search(r"(fill|stroke): ?#", svg)
    # The library's own cycle is shown in the palette; words keep the darker shade.
    assert "--p4c78a8" in Pictures().svg(drawn, "")


def test_a_continuous_scale_does_not_flood_the_page():
    def draw():
        figure = Figure(figsize=(3, 2))
        axes = figure.subplots()
        for i in range(200):
            axes.plot([0, i], color=(i / 255, 0.9, 0.1))
        return figure

    pictures = Pictures()
    pictures.svg(draw, "")
    assert len(pictures.colours) <= 96


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [*PALETTE, "#1f4e79", "#4b5563", "#d62728", "#111111", "#000080", "#666666"])
def test_marks_stand_out_on_a_dark_page(colour):
    assert contrast(dark_of(colour), dark_of("#ffffff")) >= 4.5


@pytest.mark.parametrize("ground", ["#dde6f0", "#fbd5b0", "#f2f2f2", "#d9ead5"])
def test_words_on_a_light_ground_can_be_read_on_its_dark_counterpart(ground):
    assert contrast(dark_of("#111111"), dark_of(ground)) >= 4.5


def test_greys_keep_their_order_reversed():
    values = [luminance(dark_of(f"#{i:02x}{i:02x}{i:02x}")) for i in range(0, 256, 17)]
    assert values == sorted(values, reverse=True)


def test_images_stay_inside_the_page():
    def draw():
        figure = Figure(figsize=(2, 2))
        figure.subplots().imshow([[0, 1], [2, 3]], cmap="Blues")
        return figure

    svg = Pictures().svg(draw, "")
    links = re.findall(r'href="([^"]*)"', svg)
    assert any(link.startswith("data:image/png;base64,") for link in links)
    assert all(link.startswith(("#", "data:image/png")) for link in links)


def test_a_link_in_a_figure_leads_nowhere():
    def draw():
        figure = drawn()
        figure.axes[0].title.set_url("https://example.org/")
        return figure

    assert "example.org" not in Pictures().svg(draw, "")


def test_the_look_of_equal_marks_is_said_once():
    def draw():
        figure = Figure(figsize=(3, 2))
        figure.subplots().plot(range(300), range(300), "o", color="#123456", alpha=0.5)
        return figure

    svg = Pictures().svg(draw, "")
    assert svg.count("<use ") > 300
    assert svg.count("fill-opacity") < 5
    assert len(svg) < 25_000
