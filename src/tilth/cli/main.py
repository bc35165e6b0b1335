"""The entry point: commands, how a mistake is told, and the exit code of each kind of end.

Nothing heavy is imported here or at the top of a command's module, so that help is there at once and a command can
speak before it loads its libraries.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import click

from tilth.cli import audit, models, tables
from tilth.errors import KindError, ModelFileError, TilthWarning
from tilth.report.render import printable


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    DATA = 3
    FINDINGS = 4
    MODEL_FILE = 6
    INTERRUPTED = 130


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        import tilth

        click.echo(f"tilth {tilth.__version__}")
        context.exit()


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 fine, 1 a fault of tilth, 2 wrong usage, 3 data that cannot be used, "
    "4 findings at --fail-on, 6 a model file that was refused, 130 interrupted.",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@tables.debug_option
def cli() -> None:
    """Machine learning on typed tables: from a raw file to scores that can be believed.

    SOURCE is a file (csv, tsv, gz, parquet, xlsx), the name of a bundled table, or - for standard input.
    """


for _command in (
    tables.run, tables.profile, audit.audit, models.models, models.datasets, models.show, models.predict,
):  # fmt: skip
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run_command(given))


def run_command(arguments: list[str]) -> int:
    """Run one command and give its exit code; mistakes are told in sentences, without a traceback unless --debug."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", TilthWarning)
        try:
            return int(cli.main(arguments, prog_name="tilth", standalone_mode=False) or Exit.OK)
        except click.exceptions.Exit as end:
            return end.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("tilth: interrupted", err=True)
            return Exit.INTERRUPTED
        except click.ClickException as error:
            error.show()
            return Exit.USAGE
        except BrokenPipeError:
            # The reader has seen enough (as head does); what is still buffered must not raise again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return Exit.OK
        except Exception as error:
            return _tell(error, "--debug" in arguments)


def _tell(error: Exception, debug: bool) -> Exit:
    """Say what went wrong on standard error, and choose the exit code."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, ModelFileError):
        code = Exit.MODEL_FILE
    elif isinstance(error, (ValueError, KindError, OSError)):
        code = Exit.DATA
    else:
        code = Exit.INTERNAL
    said = str(error) or type(error).__name__
    if code is Exit.INTERNAL:
        said = f"a fault of tilth itself: {type(error).__name__}: {said}"
        error.add_note("Run again with --debug and report what it prints.")
    click.echo(f"tilth: {printable(said)}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"  {printable(note)}", err=True)
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    said = str(message) if issubclass(category, TilthWarning) else f"{category.__name__}: {message}"
    click.echo(f"tilth: {printable(said)}", err=True)


if __name__ == "__main__":
    main()
