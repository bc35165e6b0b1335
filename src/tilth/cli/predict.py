"""The command ``predict``: answers for the rows of a table, chunk by chunk."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from tilth.cli.explaining import explanation, reasons, text_columns
from tilth.cli.options import debug_option, examples, json_option, model_file, quiet_option, say, say_notes
from tilth.errors import TilthWarning

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "jsonl", "parquet")
_ENDLESS = (float("inf"), float("-inf"))


@click.command(epilog=examples(
    "tilth predict model.tilth new.csv -o answers.csv", "cat new.csv | tilth predict model.tilth - --proba | head",
    "tilth predict model.tilth new.parquet --id customer --explain -o answers.jsonl",
))  # fmt: skip
@click.argument("model")
@click.argument("source")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File to write instead of standard output.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Format [default: by the name of --out, else csv].")
@click.option("--proba", is_flag=True, help="Also the probability of every class.")
@click.option("--explain", is_flag=True, help="Also the three strongest reasons for each answer.")
@click.option("--id", "ids", multiple=True, metavar="COLUMN", help="Column to copy to the output; may be repeated.")
@click.option(
    "--chunk", type=click.IntRange(min=1), default=65_536, show_default=True, help="Rows held in memory at a time."
)
@json_option
@quiet_option
@debug_option
def predict(
    model: str, source: str, out: Path | None, form: str | None, proba: bool, explain: bool, ids: tuple[str, ...],
    chunk: int, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Predict the rows of a table, in their order.

    Files may be larger than memory. A model with intervals or sets of classes gives them too. At the end, standard
    error says in what the rows differ from those the model was trained on. With --json, --out takes the answers and the
    document says how many they are; without --out they are in the document.
    """
    form = form or _by_name(out)
    if form == "parquet" and out is None:
        raise click.UsageError("Parquet needs a file: give --out answers.parquet.")
    if as_json and out is None and form != "csv":
        raise click.UsageError("--json prints the answers inside its document; give --out for a file of answers.")
    path = model_file(model)
    if out is not None and any(p.exists() and out.exists() and p.samefile(out) for p in (path, Path(source))):
        raise click.UsageError(f"--out {out} is one of the files to read; choose another name.")
    if out is not None and not out.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {out.parent} to write {out.name} in; create it, or change --out.")
    say(f"tilth: predicting {source} with {model}", quiet)
    from tilth.data.names import beside
    from tilth.lifecycle.save import load
    from tilth.lifecycle.source import read_chunks, require_column

    answerer = Answerer(load(path), model, proba, explain)
    watcher = _watcher(path)
    heard = Heard()
    n_rows = 0
    with _sink(out, form, as_json) as write:
        text = [*ids, *text_columns(answerer.model)]
        for piece in read_chunks(source, chunk, text=text, needed=[*ids, *answerer.needed()]):
            say_notes(piece.notes, quiet)
            for name in ids:
                require_column([str(c) for c in piece.frame.columns], name, "id to carry through")
            rows = piece.frame.drop(columns=[n for n in ids if not answerer.needs(n)])
            with heard.listening():
                answers = answerer.answers(rows)
            for place, name in enumerate(ids):
                answers.insert(place, *beside([name], answers.columns, "given"), piece.frame[name])
            write(answers)
            n_rows += len(answers)
            if watcher is not None:
                watcher.add(rows)
        monitoring = None if watcher is None else watcher.result()
        if as_json:
            write.finish({
                "schema": "tilth.predict/1", "model": str(path), "class": type(answerer.model).__name__,
                "source": source, "rows": n_rows, "file": None if out is None else str(out),
                "warnings": heard.lines(), "monitoring": None if monitoring is None else monitoring.to_dict(),
            })  # fmt: skip
    for line in heard.lines():
        say_notes([line])
    if monitoring is not None and monitoring.light != "good":
        titles = [f.title for severity in ("serious", "warning") for f in monitoring.of(severity)]
        say_notes([f"New rows and training rows: {monitoring.verdict()}", *(f"  {title}" for title in titles)])
    if out is not None:
        say(f"tilth: wrote {n_rows} predictions to {out}", quiet)


def _by_name(out: Path | None) -> str:
    ending = "" if out is None else out.suffix.lower().lstrip(".")
    return {"ndjson": "jsonl", "json": "jsonl", "pq": "parquet"}.get(ending, ending if ending in FORMATS else "csv")


def _watcher(path: Path) -> Any:
    """Something that compares new rows with those of training, where the model file says what they looked like."""
    from tilth.lifecycle.monitor.watch import Watcher, reference_of
    from tilth.lifecycle.save import read_about

    return Watcher(reference_of(path)) if "reference" in read_about(path) else None


class Answerer:
    """A model and what it is asked for."""

    def __init__(self, model: Any, name: str, proba: bool, explain: bool) -> None:
        from tilth.base.answers import says

        kind = type(model).__name__
        offered = says(model)
        if not {"prediction", "transformed"} & set(offered):
            raise click.UsageError(f"{name} holds a {kind}, which cannot predict new rows.")
        if proba and "probabilities" not in offered:
            raise click.UsageError(f"{name} holds a {kind}, which gives no probabilities; drop --proba.")
        self.model, self.explain = model, explain
        classes = hasattr(model, "classes_")
        left_out = {"probabilities" if not proba else "", "scores" if classes else ""}
        left_out |= {"transformed"} if "prediction" in offered else set()
        self.need = [n for n in offered if n not in left_out]
        self._background: pd.DataFrame | None = None

    def _schema(self) -> Any:
        from tilth.lifecycle.save import parts_of

        return getattr(parts_of(self.model)[0], "schema_", None)

    def needs(self, column: str) -> bool:
        """Whether the model learned from a column of this name."""
        schema = self._schema()
        return schema is not None and column in schema.names

    def needed(self) -> list[str]:
        """The columns without which the model has no answer."""
        schema = self._schema()
        return [] if schema is None else [c.name for c in schema.features]

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """One line per row: the prediction, and what else was asked for or can be said."""

        import pandas as pd

        from tilth.base.answers import answers

        outputs = answers(self.model, rows, self.need)
        if outputs.transformed is not None:
            return pd.DataFrame(outputs.transformed).reset_index(drop=True)
        out = _columns_of(outputs.prediction, getattr(self.model, "target_", None))
        if outputs.probabilities is not None:
            for place, label in enumerate(self.model.classes_.tolist()):
                out[f"p({label})"] = outputs.probabilities[:, place]
        if outputs.intervals is not None:
            out["low"], out["high"] = outputs.intervals.T
        if outputs.sets is not None:
            classes = self.model.classes_.tolist()
            sets = [[label for label, inside in zip(classes, row, strict=True) if inside] for row in outputs.sets]
            out["set"] = ["|".join(map(str, labels)) for labels in sets]
            out["unsure"] = [len(labels) != 1 for labels in sets]
        if outputs.scores is not None:
            out["score"] = outputs.scores
        if outputs.p_values is not None:
            out["p-value"] = outputs.p_values
        if self.explain:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TilthWarning)  # the same as for the prediction, which has said it
                if self._background is None:
                    self._background = rows.head(200)
                explained = explanation(self.model, rows, self._background)
                for k, words in enumerate(reasons(explained), 1):
                    out[f"reason {k}"] = words
        return out


def _columns_of(prediction: Any, names: Any) -> pd.DataFrame:
    """A column, or one for each of several targets."""
    import pandas as pd

    if getattr(prediction, "ndim", 1) == 1:
        return pd.DataFrame({"prediction": prediction})
    labels = names if isinstance(names, list) else range(1, prediction.shape[1] + 1)
    return pd.DataFrame(prediction, columns=[f"prediction of {name}" for name in labels])


class Heard:
    """Warnings of the model, each told once however many chunks gave it."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._times: dict[str, int] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep the warnings given inside."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            ours = isinstance(warning.message, TilthWarning)
            text = str(warning.message) if ours else f"{warning.category.__name__}: {warning.message}"
            # Numbers of rows and examples differ from chunk to chunk; code and column do not.
            about = re.search(r"'[^']*'", text)
            key = f"{getattr(warning.message, 'code', '')} {about[0]}" if ours and about else text
            self._first.setdefault(key, text)
            self._times[key] = self._times.get(key, 0) + 1

    def lines(self) -> list[str]:
        """One line for each."""
        more = {key: n - 1 for key, n in self._times.items()}
        return [f"{text} (and in {more[k]} more chunks)" if more[k] else text for k, text in self._first.items()]


# ------------------------------------------------------------------------------------------------------------ writing


@contextmanager
def _sink(out: Path | None, form: str, as_json: bool) -> Iterator[Any]:
    """Something that takes frames of answers; a file is there at the end, whole, or not at all."""
    from tilth.lifecycle.files import whole_file

    with ExitStack() as around, ExitStack() as stack:
        handle: IO[bytes] | None = None if out is None else stack.enter_context(whole_file(out))
        if not as_json:
            yield _writer(form, handle, stack)
            return
        document = around.enter_context(_Document(None if handle is None else _writer(form, handle, stack)))
        yield document
        stack.close()  # the file is whole before anything is said of it
        document.print()


def _writer(form: str, handle: IO[bytes] | None, stack: ExitStack) -> Callable[[pd.DataFrame], None]:
    if form == "parquet":
        assert handle is not None
        return stack.enter_context(_Parquet(handle))
    is_first = True

    def write(answers: pd.DataFrame) -> None:
        nonlocal is_first
        if form == "csv":
            text = answers.to_csv(index=False, header=is_first, lineterminator="\n")
        else:
            text = _lines(answers)
        is_first = False
        if handle is None:
            sys.stdout.write(text)
        else:
            handle.write(text.encode("utf-8"))

    return write


def _lines(answers: pd.DataFrame) -> str:
    """One object per row; numbers keep all their digits, and what is not finite is null."""
    columns = [[None if v != v or v in _ENDLESS else v for v in answers[c].tolist()] for c in answers]
    names = [str(c) for c in answers]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


class _Parquet:
    """A parquet file written chunk by chunk; all chunks have the columns and types of the first."""

    def __init__(self, handle: IO[bytes]) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise click.UsageError("Writing parquet needs pyarrow: pip install 'tilth[frames]'.") from None
        self._handle = handle
        self._writer: Any = None

    def __enter__(self) -> _Parquet:
        return self

    def __call__(self, answers: pd.DataFrame) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(answers, preserve_index=False)
        if self._writer is None:
            # A column carried through may be empty in the first chunk only; text takes whatever comes later.
            fields = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in table.schema]
            self._writer = pq.ParquetWriter(self._handle, pa.schema(fields))
        self._writer.write_table(table.cast(self._writer.schema))

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()


class _Document:
    """One json document: the answers wait in a temporary file, so that all of it is printed or nothing."""

    def __init__(self, writer: Callable[[pd.DataFrame], None] | None) -> None:
        import tempfile

        self._writer = writer
        self._spool = tempfile.SpooledTemporaryFile(max_size=1 << 24, mode="w+", encoding="utf-8")  # noqa: SIM115
        self._facts: dict[str, Any] = {}
        self._any = False

    def __enter__(self) -> _Document:
        return self

    def __exit__(self, *error: object) -> None:
        self._spool.close()

    def __call__(self, answers: pd.DataFrame) -> None:
        if self._writer is not None:
            self._writer(answers)
            return
        for line in _lines(answers).rstrip("\n").split("\n"):
            self._spool.write(f"{',' if self._any else ''}\n  {line}")
            self._any = True

    def finish(self, facts: dict[str, Any]) -> None:
        """What is said besides the answers."""
        self._facts = facts

    def print(self) -> None:
        """Everything, to standard output."""
        head = json.dumps(self._facts, indent=1, ensure_ascii=False, allow_nan=False)
        if self._writer is not None:
            sys.stdout.write(head + "\n")
            return
        sys.stdout.write(head[:-2] + ',\n "predictions": [')
        self._spool.seek(0)
        while part := self._spool.read(1 << 20):
            sys.stdout.write(part)
        sys.stdout.write("\n ]\n}\n")
