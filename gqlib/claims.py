"""The register of claims: what the paper says, how much of it holds, and the cell and test that show it.

The register is one file, `book/claims.yml` in a checkout; an installed package contains a copy. An entry has an `id`, a
place in the paper (`where`), the numbered objects it covers (`items`), what the paper `says`, paraphrased, a `verdict`,
a `correction` or `readings` where they apply, and `evidence`: labelled cells of chapters, and tests. The rule by which
verdicts are given is on the scorecard. Three more fields serve that rule: `weight` says how much a correction weighs,
`repeats` names the entry that judges the same claim (an entry with this field is listed but not counted), and `defence`
is the strongest case for the paper, in one sentence. A `finding` says in one sentence what came out, for those entries
that are shown in short, too. `source` is missing for claims of the paper; ``successor`` marks what the abstract of
Zhao and Yang (2026) says, which is kept apart from the paper's claims in every list and count.

Formulas are typed as plain text, with Greek letters, `_` and `^`. How the book shows the register is in
`book/kit/scorecard.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, get_args

from gqlib import _validate as check

__all__ = [
    "SOURCES",
    "VERDICTS",
    "WEIGHTS",
    "Claim",
    "count_verdicts",
    "count_weights",
    "load_claims",
]

Source = Literal["paper", "successor"]
Verdict = Literal[
    "verified",
    "definition",
    "corrected",
    "refuted",
    "reproduced",
    "not reproduced",
    "underspecified",
]
SOURCES, VERDICTS = get_args(Source), get_args(Verdict)
# How much a correction weighs: put right while reading; a wrong line but a right result; the statement itself changes.
WEIGHTS = ("slip", "formula", "hypothesis")
FIELDS = frozenset(
    {
        *("id", "where", "items", "says", "verdict", "weight", "repeats"),
        *("correction", "readings", "finding", "defence", "evidence", "source"),
    }
)
# The paper's sections, as the register names them, and as a person would.
SECTIONS = {
    "Abstract": "Abstract",
    "Introduction": "Section 1",
    "Background and Notations": "Section 2",
    "Temporal Difference Learning and λ-Return": "Section 2.1",
    "An Unified View": "Section 2.2",
    "Q(σ, λ) with Semi-Gradient Method": "Section 3",
    "Semi-Gradient Method": "Section 3.1",
    "Instability Analysis": "Section 3.2",
    "A Counter Unstable Example": "Section 3.3",
    "Gradient Q(σ, λ)": "Section 4",
    "Gradient Q(σ, λ): objective function": "Section 4.1",
    "Gradient Q(σ, λ): algorithm derivation": "Section 4.2",
    "Gradient Q(σ, λ): convergence analysis": "Section 4.3",
    "Experiment": "Section 5",
    "Policy Evaluation Task": "Section 5.1",
    "Control Task": "Section 5.2",
    "Conclusions": "Section 6",
    **{f"Appendix {letter}": f"Appendix {letter}" for letter in "ABCDE"},
}
# The verdicts against which the register puts the case for the paper.
DEFENDED = ("refuted", "not reproduced")
# A verdict of the first kind must say what is right instead, one of the second kind what the readings are.
NEEDS = {"corrected": "correction", "refuted": "correction", "underspecified": "readings"}


@dataclass(frozen=True)
class Claim:
    """One claim of the paper; `cells` are (chapter, label) pairs and `tests` are pytest node names.

    `sections` are the sections where the claim stands, by number. `place` is what a reader would look for: the numbered
    object, or else the section and a few words. Labels of the paper's LaTeX source, which the register notes behind
    numbered objects, are part of neither.

    Examples
    --------
    >>> claim = load_claims()[0]
    >>> claim.verdict in VERDICTS, all(len(cell) == 2 for cell in claim.cells), bool(claim.tests)
    (True, True, True)
    >>> (theorem,) = (claim for claim in load_claims() if claim.id == "theorem-1")
    >>> theorem.place, theorem.sections
    ('Theorem 1', ('Section 4.3',))
    """

    id: str
    section: str
    label: str
    items: tuple[str, ...]
    says: str
    verdict: Verdict
    correction: str
    readings: str
    cells: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    weight: str = ""
    repeats: str = ""
    defence: str = ""
    finding: str = ""
    source: Source = "paper"

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of the paper, by number."""
        return tuple(SECTIONS.get(name, name) for name in self.section.split("; "))

    @property
    def place(self) -> str:
        """The numbered object, or the section and a few words that lead to the sentence."""
        objects = [item for item in self.items if not item.startswith("Appendix")]
        if objects:
            return ", ".join(objects)
        words = self.label.split(", ")[0] if self.items else self.label
        others = [section for section in self.sections if section not in words]
        section = " and ".join(others)
        if len(others) > 1 and all(name.startswith("Section ") for name in others):
            section = "Sections " + " and ".join(name.removeprefix("Section ") for name in others)
        if not section:
            return words
        return (
            f"{section} and {words}" if len(others) < len(self.sections) else f"{section}, {words}"
        )


def load_claims(path: str | Path | None = None, *, source: Source = "paper") -> list[Claim]:
    """Read and check the register; without `path`, that of the package or, in a checkout, that of the book.

    Parameters
    ----------
    path : str or Path, optional
    source : {"paper", "successor"}
        Whose claims: the paper's, or those in the abstract of its successor.

    Examples
    --------
    >>> all(claim.verdict in VERDICTS for claim in load_claims())
    True
    >>> {claim.source for claim in load_claims(source="successor")}
    {'successor'}
    """
    import yaml

    check.choice("source", source, SOURCES)
    place = _register() if path is None else check.path("path", path)
    try:
        there = place.is_file()
    except OSError:  # a name that is too long for one
        there = False
    if not there:
        raise ValueError(f"path is {str(place)!r}; it should be a file with claims")
    try:
        entries = yaml.load(place.read_text(encoding="utf-8"), Loader=_loader())
    except (
        yaml.YAMLError, RecursionError, OverflowError, AttributeError, ValueError, LookupError, TypeError, OSError
    ) as error:  # fmt: skip
        told = " ".join(str(error).split())
        raise ValueError(
            f"path is {place.name}; it should hold a list of claims in YAML ({told})"
        ) from error
    if not isinstance(entries, list):
        raise ValueError(f"path is {place.name}; it should hold a list of claims")
    claims = [_claim(entry) for entry in entries]
    repeated = [name for name, times in Counter(claim.id for claim in claims).items() if times > 1]
    if repeated:
        raise ValueError(f"id is {repeated[0]!r} in several claims; it should be unique")
    known = {claim.id: claim for claim in claims}
    for claim in claims:
        other = known.get(claim.repeats)
        if claim.repeats and (other is None or other.repeats or other.verdict != claim.verdict):
            raise ValueError(
                f"repeats of claim {claim.id} is {claim.repeats!r}; it should name a claim of the same verdict "
                "that repeats no other"
            )
    return [claim for claim in claims if claim.source == source]


@cache
def _loader() -> type:
    """YAML's safe loader, without references, by which few lines stand for gigabytes, and without a name twice."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.composer.ComposerError(None, None, "a reference", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            found = super().construct_mapping(node, deep=deep)
            if len(found) < len(node.value):
                raise yaml.constructor.ConstructorError(None, None, "a name twice", node.start_mark)
            return found

    return Plain


def _register() -> Traversable:
    shipped = files("gqlib") / "claims.yml"
    return shipped if shipped.is_file() else Path(__file__).parents[1] / "book" / "claims.yml"


def _claim(entry: Any) -> Claim:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        raise ValueError(f"claim is {check.brief(entry)}; it should be a mapping with an id")
    name = entry["id"]
    unknown = set(entry) - FIELDS
    if unknown:
        first = sorted(unknown, key=str)[0]
        raise ValueError(
            f"claim {name} has a field {first!r}; it should be one of {sorted(FIELDS)}"
        )
    verdict = check.choice(f"verdict of claim {name}", entry.get("verdict"), VERDICTS)
    needed = NEEDS.get(verdict)
    if needed and not entry.get(needed):
        raise ValueError(
            f"{needed} of claim {name} is missing; a claim that is {verdict} should have it"
        )
    weight, repeats = str(entry.get("weight") or ""), str(entry.get("repeats") or "")
    if (verdict == "corrected" and not repeats) != bool(weight) or (
        weight and weight not in WEIGHTS
    ):
        wanted = f"one of {WEIGHTS} where a claim is corrected and repeats no other, and missing elsewhere"
        raise ValueError(f"weight of claim {name} is {weight!r}; it should be {wanted}")
    if (verdict in DEFENDED or weight == "hypothesis") and not repeats and not entry.get("defence"):
        raise ValueError(f"defence of claim {name} is missing; the paper should have its case made")
    where, evidence = entry.get("where"), entry.get("evidence")
    if (
        not isinstance(where, dict)
        or not {"section", "label"} <= set(where)
        or not entry.get("says")
    ):
        raise ValueError(f"claim {name} should have `where` with section and label, and `says`")
    if not isinstance(evidence, list) or not evidence:
        raise ValueError(
            f"evidence of claim {name} is {check.brief(evidence)}; it should be a list"
        )
    for proof in evidence:
        named = isinstance(proof, dict) and set(proof) in ({"chapter", "cell"}, {"test"})
        if not named or not all(isinstance(place, str) for place in proof.values()):
            told = f"evidence of claim {name} has {check.brief(proof)}"
            raise ValueError(f"{told}; it should be a chapter's cell, or a test")
    items = entry.get("items") or []
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError(
            f"items of claim {name} is {check.brief(items)}; it should be a list of texts"
        )
    return Claim(
        id=name,
        section=str(where["section"]),
        label=str(where["label"]),
        items=tuple(items),
        says=str(entry["says"]).strip(),
        verdict=verdict,
        correction=str(entry.get("correction") or "").strip(),
        readings=str(entry.get("readings") or "").strip(),
        cells=tuple((proof["chapter"], proof["cell"]) for proof in evidence if "cell" in proof),
        tests=tuple(proof["test"] for proof in evidence if "test" in proof),
        weight=weight,
        repeats=repeats,
        defence=str(entry.get("defence") or "").strip(),
        finding=str(entry.get("finding") or "").strip(),
        source=check.choice(f"source of claim {name}", entry.get("source", "paper"), SOURCES),
    )


def checked(claims: Iterable[Claim]) -> list[Claim]:
    """The claims as a list; ValueError where something else is among them."""
    try:
        listed = list(claims)
    except TypeError:
        raise ValueError(
            f"claims is {check.brief(claims)}; it should be a list of claims"
        ) from None
    for claim in listed:
        check.instance("claims", claim, Claim)
    return listed


def count_verdicts(claims: Iterable[Claim]) -> dict[str, int]:
    """How many claims have each verdict, in the order of VERDICTS; repeats of another claim are not counted.

    Examples
    --------
    >>> claims = load_claims()
    >>> counts = count_verdicts(claims)
    >>> list(counts)[:2], sum(counts.values()) == sum(not claim.repeats for claim in claims)
    (['verified', 'definition'], True)
    """
    counts = Counter(claim.verdict for claim in checked(claims) if not claim.repeats)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def count_weights(claims: Iterable[Claim]) -> dict[str, int]:
    """How many corrections have each weight, in the order of WEIGHTS.

    Examples
    --------
    >>> claims = load_claims()
    >>> sum(count_weights(claims).values()) == count_verdicts(claims)["corrected"]
    True
    """
    counts = Counter(claim.weight for claim in checked(claims))
    return {weight: counts[weight] for weight in WEIGHTS}
