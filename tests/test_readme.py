"""The README tells the truth: its counts are the register's, and its example runs."""

import re
from pathlib import Path

from gqlib.claims import count_verdicts, count_weights, load_claims

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def counts_line():
    """What the README should say between its two marks."""
    claims = load_claims()
    counts = count_verdicts(claims)
    names = {"definition": "definitions"}
    parts = [
        f"{number} {names.get(verdict, verdict)}" for verdict, number in counts.items() if number
    ]
    weights = ", ".join(f"{number} {weight}" for weight, number in count_weights(claims).items())
    told = ", ".join(parts).replace(" corrected", f" corrected ({weights})")
    return f"**Of the paper's {sum(counts.values())} claims: {told}.**"


def test_counts_are_those_of_the_register():
    between = re.search(r"<!-- counts:.*?-->\n(.*?)\n?<!-- /counts -->", README, flags=re.DOTALL)
    assert between.group(1).strip() == counts_line()


def test_the_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert "[" in capsys.readouterr().out
    assert len(example.strip().splitlines()) == 3


def test_pictures_and_files_exist():
    for target in re.findall(r"\]\((\S+?)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target
