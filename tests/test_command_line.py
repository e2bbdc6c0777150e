"""The command line as a contract: every command, option, default and word of help as `tests/command_line.yml` has it.

python tests/test_command_line.py    write that file anew, to be read before it is committed
"""

import argparse
import codecs
from pathlib import Path

import pytest
import yaml

from gqlib import cli
from gqlib.claims import load_claims

CONTRACT = Path(__file__).with_name("command_line.yml")


def words(value):
    """A value as YAML can hold it: types and functions by name."""
    if isinstance(value, type) or callable(value):
        return value.__name__
    if isinstance(value, Path):
        return value.as_posix()
    return [words(one) for one in value] if isinstance(value, (list, tuple, dict)) else value


def option(action):
    shown = {
        "names": action.option_strings or [action.dest],
        "kind": type(action).__name__.strip("_"),
    }
    for part in ("default", "type", "choices", "nargs", "metavar", "help", "required"):
        value = words(getattr(action, part))
        if value not in (None, argparse.SUPPRESS, False) and not (
            part == "required" and not action.option_strings
        ):
            shown[part] = value
    return shown


def contract():
    """What the parser offers, by command, independent of how a version of Python prints it."""
    parser = cli._parser()
    (commands,) = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    lines = {choice.dest: choice.help for choice in commands._choices_actions}
    told = {
        "gq": {"description": parser.description, "metavar": commands.metavar, "prog": parser.prog}
    }
    for name, command in commands.choices.items():
        told[name] = {
            "line": lines[name],
            "description": command.description,
            "epilog": command.epilog,
            "calls": command.get_default("call").__name__,
            "formatter": command.formatter_class.__name__,
            "options": [option(action) for action in command._actions if action.dest != "help"],
        }
    return told


def test_the_command_line_is_as_it_was_agreed():
    agreed = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))
    found = contract()
    assert sorted(found) == sorted(agreed)
    for name, command in agreed.items():
        assert found[name] == command, name


@pytest.mark.parametrize("name", ["reproduce", "run", "claims"])
def test_the_help_of_a_command_is_one_sentence_and_its_options(name, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    told = "".join(capsys.readouterr().out.split())  # lines may be broken at hyphens
    agreed = contract()[name]
    assert agreed["description"] == f"{agreed['line'][0].upper()}{agreed['line'][1:]}."
    for text in (agreed["description"], *(one["help"] for one in agreed["options"])):
        assert "".join(text.replace("%%", "%").split()) in told


def test_letters_that_a_terminal_lacks_are_spelt():
    cli._spell_out()
    assert codecs.lookup_error("gqlib.spell") is cli._spelt
    assert "Q(σ, λ)".encode("ascii", errors="gqlib.spell") == b"Q(sigma, lambda)"


def test_a_section_is_named_by_its_number_or_by_words():
    claims = load_claims()
    by_number = {claim.id for claim in claims if cli._in_section(claim, "3")}
    expected = {
        claim.id
        for claim in claims
        if any(n == "Section 3" or n.startswith("Section 3.") for n in claim.sections)
    }
    assert by_number == expected
    assert by_number
    assert not any(cli._in_section(claim, "44") for claim in claims)


def test_a_claim_is_told_with_all_its_parts():
    claim = next(claim for claim in load_claims() if claim.repeats)
    told = cli._told(claim).splitlines()
    assert told[0].startswith(f"{claim.id}: {claim.verdict}")
    assert f"    repeats: {claim.repeats}" in told
    heads = [
        line.split(":")[0].strip() for line in told[1:] if line.lstrip().split(": ")[0] in HEADS
    ]
    assert heads == [head for head in HEADS if head in heads]
    assert all(line.startswith("    ") and len(line) <= 120 for line in told[1:])


HEADS = ["holds", "readings", "for the paper", "repeats", "shown by"]

if __name__ == "__main__":
    CONTRACT.write_text(
        yaml.safe_dump(contract(), allow_unicode=True, width=118, sort_keys=False), encoding="utf-8"
    )
