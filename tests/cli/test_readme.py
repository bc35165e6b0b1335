import doctest
import re
from pathlib import Path

import click
import pytest

from tilth.cli.main import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_gives_what_it_says():
    found = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted >= 6
    assert found.failed == 0


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", README))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()


@pytest.mark.parametrize(
    "words", [line.split("  #")[0].split()[1:] for line in README.split("\n") if line.startswith("    tilth ")]
)
def test_commands_and_options_exist(words):
    command = cli.get_command(click.Context(cli), words[0])
    options = {name for p in command.params if isinstance(p, click.Option) for name in p.opts}
    assert {w for w in words if w.startswith("-")} <= options
