"""The command ``serve``: predictions over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from tilth.cli.options import debug_option, examples, model_file, print_json, quiet_option, say


@click.command(
    epilog=examples(
        "tilth serve model.tilth",
        "tilth serve model.tilth --port 0 --max-rows 100",
        "tilth serve model.tilth --host 0.0.0.0 --token-file token.txt",
    )
)
@click.argument("model")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; the default accepts only this machine.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--token", metavar="TOKEN", help="Token clients must send; visible in process lists, prefer --token-file."
)
@click.option("--token-file", type=click.Path(path_type=Path), help="File that holds the token; or set TILTH_TOKEN.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another host name that requests may use.")
@click.option("--max-rows", type=click.IntRange(min=1), default=10_000, show_default=True, help="Rows of a request.")
@click.option("--max-bytes", default="10m", show_default=True, metavar="SIZE", help="Size of a request's body.")
@click.option(
    "--max-requests",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Predictions at once; more get 503.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=0.0, min_open=True), default=30.0, show_default=True, metavar="SECONDS",
    help="Time for a request to arrive, and for its answer.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print address and model as one JSON document at the start.")
@quiet_option
@debug_option
def serve(
    model: str, host: str, port: int, token: str | None, token_file: Path | None, allow_host: tuple[str, ...],
    max_rows: int, max_bytes: str, max_requests: int, timeout: float, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Serve a model over HTTP: predictions, a form in the browser, the schema.

    Rows are sent to POST /predict as JSON or CSV; GET /docs tells how. Stops on Ctrl-C or SIGTERM.
    """
    secret = _token(token, token_file)
    path = model_file(model)
    say(f"tilth: loading {path}", quiet)
    # Read when OpenMP is loaded: threads that wait for work must sleep, or they take the cores from other requests.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from tilth.serve.limits import Limits, parse_size
    from tilth.serve.server import AddressError, leave_now
    from tilth.serve.server import serve as answer

    try:
        limits = Limits(
            max_rows=max_rows, max_bytes=parse_size(max_bytes), max_requests=max_requests, timeout=timeout
        )  # fmt: skip
    except ValueError as error:
        raise click.UsageError(str(error)) from None

    def started(facts: dict[str, Any]) -> None:
        say(f"tilth: serving {path.name} ({facts['class']}) at {facts['url']} until Ctrl-C", quiet)
        if as_json:
            print_json({"schema": "tilth.serve/1", **facts})

    try:
        answer(path, host, port, token=secret, limits=limits, allow_hosts=allow_host, on_start=started)
    except (AddressError, ImportError) as error:
        raise click.UsageError(str(error)) from None
    say("tilth: stopped", quiet)
    leave_now()


def _token(token: str | None, token_file: Path | None) -> str | None:
    """The token from where it was given; a command that names it wrongly must not start without one."""
    if token is not None and token_file is not None:
        raise click.UsageError("Give --token or --token-file, not both.")
    secret, source = token, "--token"
    if token_file is not None:
        try:
            secret, source = token_file.read_text("ascii").strip(), "--token-file"
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"--token-file: {token_file} cannot be read: {error}") from None
    elif token is None and "TILTH_TOKEN" in os.environ:
        secret, source = os.environ["TILTH_TOKEN"].strip(), "TILTH_TOKEN"
    if secret is not None and (not secret or not secret.isascii() or not secret.isprintable() or " " in secret):
        raise click.UsageError(f"{source}: a token is one or more visible ASCII characters without spaces.")
    return secret
