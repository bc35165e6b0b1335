"""The entry point: commands, how a mistake is told, and the exit code of each kind of end.

Nothing heavy is imported here or at the top of a command's module, so that help is there at once and a command can
speak before it loads its libraries. A command's own module is imported when the command is used.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click

from tilth.cli.exits import Exit
from tilth.cli.options import debug_option
from tilth.errors import KindError, ModelFileError, TilthWarning

#: Each command with its module (its function has the command's name) and the line the overview shows.
COMMANDS = {
    "run": ("run", "From a raw table to a tested model: data checks, baselines, model selection, one test, report."),
    "replay": ("run", "Fit the model of an earlier run again and check that it is the same."),
    "predict": ("predict", "Predict the rows of a table, in their order."),
    "explain": ("explain", "Explain a model's answers: row by row, or over all rows."),
    "audit": ("audit", "Check whether a score can be trusted: duplicates, split groups, columns that leak the target."),
    "compare": ("compare", "Compare model files on a labelled table, or the folders of runs."),
    "profile": ("profile", "Check a table: missing values, disguised missing values, outliers, duplicates, leaks."),
    "models": ("models", "List the models, or those that suit a table."),
    "datasets": ("models", "List the bundled tables."),
    "show": ("show", "Show a model file, or compare two."),
    "serve": ("serve", "Serve a model over HTTP: predictions, a form in the browser, the schema."),
    "doctor": ("doctor", "Check the installation: versions, compiled core, extras, and a test on bundled data."),
}


class LazyGroup(click.Group):
    """A group that imports the module of a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order of a first project."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"tilth.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; a wrong name is met with the nearest ones."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0].lower(), list(COMMANDS), 2, 0.5)
            hint = f" Did you mean {' or '.join(near)}?" if near else " `tilth --help` lists them."
            ctx.fail(f"There is no command {_clean(args[0])!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        import tilth

        click.echo(f"tilth {tilth.__version__}")
        context.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 success, 1 a bug in tilth, 2 wrong usage, 3 data that cannot be used, "
    "4 findings at --fail-on, 5 no better than the baseline with --require-gain, 6 a model file that was refused, "
    "130 interrupted.",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@debug_option
def cli() -> None:
    """Machine learning on typed tables: from a raw file to scores that can be believed.

    SOURCE is a file (csv, tsv, parquet, xlsx, arff, json lines; also packed by gzip, bzip2, xz or zip), the name of a
    bundled table, or - for standard input.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run_command(words))


def run_command(arguments: list[str]) -> int:
    """Run one command and give its exit code; mistakes are told in sentences, without a traceback unless --debug."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", TilthWarning)
        try:
            code = int(cli.main(arguments, prog_name="tilth", standalone_mode=False) or Exit.OK)
            sys.stdout.flush()  # a reader that left early is met here, not at exit
            return code
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
    code, message = _judged(error)
    if code is Exit.INTERNAL:
        message = f"a bug in tilth: {type(error).__name__}: {message}"
        error.add_note("Run again with --debug and report what it prints.")
    click.echo(f"tilth: {_clean(message)}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"  {_clean(note)}", err=True)
    return code


def _clean(text: str) -> str:
    """Text without control characters, which names from strangers' files could steer a terminal with."""
    from tilth.report.render import printable

    return printable(text)


def _judged(error: Exception) -> tuple[Exit, str]:
    """Whose fault it is, and the sentence to say."""
    message = str(error) or type(error).__name__
    if isinstance(error, ModelFileError):
        return Exit.MODEL_FILE, message
    if isinstance(error, MemoryError):
        return Exit.DATA, "Not enough memory. Use fewer rows or columns, or a smaller --chunk."
    if isinstance(error, OSError) and error.strerror:
        named = f": {error.filename}" if error.filename else ""
        return Exit.DATA, f"{error.strerror}{named}."
    if isinstance(error, (ValueError, KindError, OSError)):
        return Exit.DATA, message
    if isinstance(error, ImportError) and "pip install" in message:  # an extra that is not installed, and its cure
        return Exit.USAGE, message
    return Exit.INTERNAL, message


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    text = str(message) if issubclass(category, TilthWarning) else f"{category.__name__}: {message}"
    click.echo(f"tilth: {_clean(text)}", err=True)


if __name__ == "__main__":
    main()
