"""Pages for people: a form that works without a script, and names from strangers that stay text."""

from html.parser import HTMLParser
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

import tilth
from tilth.serve.pages import Html, escaped, fill, joined

FORM = {"content-type": "application/x-www-form-urlencoded"}
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onfocus='alert(1)", "</title><h1>x",
    "a\0b\x1b[31m", "${title}", "$body", "&lt;b&gt;", "</select></form>", "javascript:alert(1)", "name\nwith line",
]  # fmt: skip


class Seen(HTMLParser):
    """The elements of a page, and all text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def fields(seen):
    return [a for tag in ("input", "select", "textarea") for a in seen.of(tag)]


@pytest.fixture
def hostile(client_of):
    """A model whose columns, levels, classes and card are all hostile."""
    n = 24
    frame = pd.DataFrame({name: np.linspace(0, 1, n) for name in HOSTILE[:6]})
    for i, name in enumerate(HOSTILE[6:]):
        frame[name] = [HOSTILE[(i + j) % 3] for j in range(n)]
    frame["<b>target</b>"] = [HOSTILE[j % 2] for j in range(n)]
    model = tilth.NaiveBayes().fit(frame, "<b>target</b>")
    card = {"<script>": ["<img src=x>", {"a": "</dl><script>"}]}
    return client_of(model, about={"card": card, "score": {"<i>": 1.0}}, model_id="<script>" * 8)


def test_nothing_from_a_stranger_becomes_markup(hostile):
    client = hostile
    cells = {f"c{i}": HOSTILE[i % len(HOSTILE)] for i in range(len(HOSTILE))}
    good = {f"c{i}": "0.5" if i < 6 else HOSTILE[i % 3] for i in range(len(HOSTILE))}
    replies = [
        client.get("/"),
        client.post("/", urlencode(cells).encode(), FORM),
        client.post("/", urlencode(good).encode(), FORM),
        client.post("/?part=answer", urlencode(good).encode(), FORM),
        client.get("/docs"),
        client.get("/card", {"accept": "text/html"}),
    ]
    assert [r.status for r in replies] == [200, 422, 200, 200, 200, 200]
    for reply in replies:
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        seen = Seen(reply.text)
        scripts = seen.of("script")
        assert scripts in ([], [{"type": "module", "src": "/page/form.js"}])
        tags = {tag for tag, _ in seen.elements}
        assert not tags & {"img", "b", "i", "style", "iframe", "object"}
        for tag, attributes in seen.elements:
            assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
            assert all((attributes.get(a) or "/").startswith(("/", "/page/")) for a in ("href", "src", "action"))
        assert "\0" not in reply.text
        assert "\x1b" not in reply.text
    shown = Seen(replies[0].text)
    for name in HOSTILE:
        readable = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in name)
        assert readable in shown.text


def test_escaping_is_by_default():
    assert escaped("<&\"'>") == "&lt;&amp;&quot;&#x27;&gt;"
    assert escaped(Html("<b>")) == "<b>"
    assert not isinstance(Html("<b>") + "<i>", Html)
    assert joined([Html("<b>"), "<i>"]) == "<b>&lt;i&gt;"
    assert "&lt;script&gt;" in fill("item", text="<script>")
    assert "$title" in fill("item", text="$title")


def test_the_form_comes_from_the_schema_and_answers_without_a_script(client, model, titanic):
    seen = Seen(client.get("/").text)
    controls = fields(seen)
    assert len(controls) == 7
    assert [o["value"] for o in seen.of("option")][:3] == ["", "female", "male"]
    assert "0.4167 to 80 in training" in seen.text
    assert seen.of("form")[0]["method"] == "post"
    labels = {a["for"] for a in seen.of("label")}
    assert labels == {a["id"] for a in controls}
    names = ["pclass", "sex", "age", "sib_sp", "parch", "fare", "embarked"]
    values = {"pclass": "1", "sex": "female", "age": "", "sib_sp": "0", "parch": "0", "fare": "80", "embarked": "C"}
    sent = urlencode({f"c{i}": values[n] for i, n in enumerate(names)}).encode()
    reply = client.post("/", sent, FORM)
    seen = Seen(reply.text)
    assert reply.status == 200
    assert "yes" in seen.text
    assert "age: missing" in seen.text
    assert "sex = female raises" in seen.text
    assert [a["value"] for a in seen.of("input")] == ["1", "", "0", "0", "80"]
    assert [a["value"] for a in seen.of("option") if "selected" in a] == ["female", "C"]
    assert len(seen.of("progress")) == 2


def test_a_wrong_cell_is_told_and_kept(client):
    reply = client.post("/", b"c0=first&c1=male", FORM)
    assert reply.status == 422
    assert "pclass: expected a finite number, or null; found 'first'." in Seen(reply.text).text
    assert Seen(reply.text).of("input")[0]["value"] == "first"
    assert client.post("/", b"{}", {"content-type": "application/json"}).status == 415
    assert client.post("/", urlencode({f"x{i}": i for i in range(500)}).encode(), FORM).status == 400
    assert client.post("/", b"\xff", FORM).status == 400


def test_many_levels_are_typed_and_many_fields_have_no_form(client_of):
    levels = [f"town {i}" for i in range(80)]
    frame = pd.DataFrame({"town": levels * 3, "x": np.arange(240.0)})
    model = tilth.CARTRegressor().fit(frame, np.arange(240.0))
    seen = Seen(client_of(model).get("/").text)
    assert len(seen.of("datalist")) == 1
    assert len(seen.of("option")) == 80
    wide = tilth.ZeroRRegressor().fit(np.random.default_rng(0).normal(size=(400, 301)), np.arange(400.0))
    page = client_of(wide).get("/")
    assert "301 fields, too many for a form" in Seen(page.text).text


def test_files_and_card(client):
    assert client.get("/page/style.css").headers["content-type"].startswith("text/css")
    assert client.get("/page/form.js").headers["content-type"].startswith("text/javascript")
    told = client.get("/card").json()
    assert told["class"] == "NaiveBayes"
    assert told["target"] == "survived"
    assert told["gives"] == ["prediction", "probabilities", "warnings"]
    assert "no" in Seen(client.get("/card", {"accept": "text/html"}).text).text


# ------------------------------------------------------------------------------------------------------------ openapi


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for inner in node.values():
            yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def test_the_document_is_whole_and_its_example_is_answered(client):
    told = client.get("/openapi.json").json()
    assert told["openapi"] == "3.1.0"
    known = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
    assert set(references(told)) <= known
    served = {route.path for route in client.app.routes}
    assert set(told["paths"]) <= served
    body = told["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    reply = client.post("/predict", {"rows": [{**given, "age": None} for given in body["example"]["rows"]]})
    _, listed = told["components"]["schemas"]["Answers"]["oneOf"]
    assert set(listed["properties"]) == set(reply.json())
    assert set(listed["properties"]["warnings"]["items"]["properties"]) == set(reply.json()["warnings"][0])
    assert client.post("/predict", body["example"]).status == 200
    schema = client.get("/schema").json()
    assert told["components"]["schemas"]["Row"]["properties"] == schema["properties"]
    assert schema["required"] == ["pclass", "sex", "age", "sib_sp", "parch", "fare", "embarked"]
    assert schema["properties"]["age"]["x-training-range"] == [0.4167, 80.0]
    assert schema["properties"]["sex"]["x-levels"] == ["female", "male"]


def test_the_documentation_can_be_copied_and_asks_nobody_else(client):
    page = client.get("/docs").text
    seen = Seen(page)
    assert "curl -H 'Content-Type: application/json'" in seen.text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in seen.text
    links = [a[k] for _, a in seen.elements for k in ("href", "src") if k in a]
    assert links
    assert all(link.startswith("/") for link in links)
