"""Objects: a short repr and a table in notebooks, equality and hashing by content, pickling, problems that stay."""

import copy
import dataclasses
import functools
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gqlib
from gqlib import FiniteMDP, PredictionProblem, domains
from gqlib._objects import ByValue, Fixed, html_table, signature
from gqlib.control import ControlSetting, run_control
from gqlib.domains.random_walk import random_walk
from gqlib.engine import run
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.learners.corrected import CorrectedProblem
from gqlib.learners.textbook import TextbookProblem
from gqlib.optimal import policy_iteration

MAKERS = {
    "two_state": lambda: domains.two_state(0.9),
    "two_state, terminal": lambda: domains.two_state(0.9, "terminal"),
    "baird_star": domains.baird_star,
    "baird_star, stacked": lambda: domains.baird_star(reading="stacked"),
    "boyan_chain": domains.boyan_chain,
    "boyan_chain, cut": lambda: domains.boyan_chain(end="absorb", episode_steps=5),
    "cart_pole": domains.cart_pole,
    "machine": domains.machine,
    "random_walk": random_walk,
    "problem": lambda: domains.two_state(0.9).problem,
    "view": lambda: CorrectedProblem.of(domains.two_state(0.9).problem),
    "mdp": lambda: FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5),
    "trajectory": lambda: domains.two_state(0.9).trajectory(50, np.random.default_rng(0)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_made_twice_is_equal_hashes_alike_and_survives_pickling_and_copying(name):
    one, two = MAKERS[name](), MAKERS[name]()
    for other in (two, pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert (one == other, hash(one) == hash(other)) == (True, True)
    assert all((one == make()) == (key == name) for key, make in MAKERS.items())


PARTS = {
    "features": np.eye(2),
    "p_mu": np.array([[0.5, 0.5], [0.5, 0.5]]),
    "p_pi": np.array([[0.25, 0.75], [0.5, 0.5]]),
    "rewards": np.ones(2),
    "xi": np.full(2, 0.5),
    "gamma": 0.9,
    "p_trace": np.array([[0.5, 0.5], [0.0, 0.0]]),
    "rewards_pi": np.full(2, 2.0),
}


@pytest.mark.parametrize("part", PARTS)
def test_problems_that_differ_in_one_part_are_not_equal(part):
    one = PredictionProblem(**PARTS)
    other = PredictionProblem(**PARTS | {part: PARTS[part] * 0.5})
    assert (one == PredictionProblem(**PARTS), one == other, hash(one) == hash(other)) == (
        True,
        False,
        False,
    )


def test_views_that_differ_in_the_walk_or_in_their_sigma_are_not_equal():
    """They hold the same chains, and give other noise, or refuse another σ."""
    mdp, phi, sure = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5), np.eye(2), [[1.0, 0.0]]
    target, given = [[0.25, 0.75]] * 2, ([0, 1], [0.5, 0.5], 0.5)
    walks = [
        PredictionProblem(phi, chain, target, *given, p_trace=np.zeros((2, 2)))
        for chain in ([[0.5, 0.5]] * 2, phi)
    ]
    certain = PredictionProblem.on_pairs(mdp, sure, sure, phi)
    for one, same, other in (
        map(CorrectedProblem.of, (walks[0], *walks)),
        (TextbookProblem.of(certain, sure, sure, sigma) for sigma in (0.0, 0.0, 1.0)),
    ):
        assert np.array_equal(one.p_mu, other.p_mu)
        assert (one == same, one == other) == (True, False)


def test_what_a_problem_was_made_from_can_change_without_it():
    given = np.eye(2), np.full((2, 2), 0.5), np.full((2, 2), 0.5), np.ones(2), np.full(2, 0.5)
    problem = PredictionProblem(*given, 0.9)
    moves, before = np.ones((1, 2, 1)), pickle.dumps(problem)
    mdp = FiniteMDP(moves, [[0.0, 1.0]], 0.5)
    for array in (*given, moves):
        array += 1.0
    assert (pickle.loads(before), MAKERS["mdp"]()) == (problem, mdp)


def test_signatures_are_equal_for_what_holds_the_same_and_for_nothing_else():
    def made(scale, *, shift):
        raise NotImplementedError

    given = [((), {}), ((1.0,), {}), ((2.0,), {}), ((), {"shift": 1.0}), ((), {"shift": 2.0})]
    arrays = [np.zeros(2), np.zeros((2, 1)), np.zeros(2, dtype=np.float32), np.array([0.0, np.nan])]
    mappings = [{"a": 1.0}, {"a": 2.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}, {}, {"a": {"a": 1.0}}]
    values = [*arrays, *mappings, {"a": np.zeros(2)}, [1.0], [2.0], [[1.0]], (1.0,), (), None, 1.0]
    values += [functools.partial(made, *args, **named) for args, named in given]
    values += [functools.partial(made, np.zeros(2), shift=[np.arange(k)]) for k in (2, 3)]
    signatures, copies = ([signature(x) for x in xs] for xs in (values, map(copy.copy, values)))
    assert len(set(signatures)) == len(values)
    assert (signatures, list(map(hash, signatures))) == (copies, list(map(hash, copies)))


class Held(Fixed):
    def __init__(self, array, word):
        self.array, self.word = array, word
        self._fix()

    def _held(self):
        return (self.array, self.word)


class Kept(Held):
    pass


@dataclasses.dataclass(eq=False)
class Written(ByValue):
    array: np.ndarray
    remark: str = dataclasses.field(default="", compare=False)


def test_equal_objects_are_of_one_class_and_hold_the_same_and_hash_by_it():
    one, same = Held(np.zeros(2), "a"), Held(np.zeros(2), "a")
    others = [
        Held(np.ones(2), "a"),
        Held(np.zeros(2), "b"),
        Kept(np.zeros(2), "a"),
        Written(np.zeros(2)),
    ]
    assert (one == same, one != same, hash(one) == hash(same)) == (True, False, True)
    for other in others:
        assert (one == other, other == one, hash(one) == hash(other)) == (False, False, False)
    assert one.__eq__("a word") is NotImplemented
    assert (one == 1) is False
    first, second = Written(np.zeros(2), "one remark"), Written(np.zeros(2), "another")
    assert (first == second, hash(first) == hash(second), first == Written(np.ones(2))) == (
        True,
        True,
        False,
    )


def test_what_is_fixed_says_what_it_would_not_change():
    array = np.zeros(2)
    held = Held(array, "a")
    assert not array.flags.writeable
    for name in ("word", "other"):
        told = f"Held does not change; {name} should be given when it is made"
        with pytest.raises(AttributeError, match=f"^{told}$"):
            setattr(held, name, "b")
    with pytest.raises(
        AttributeError, match=r"^Held does not change; word should be left as it is$"
    ):
        del held.word
    assert (held.word, hasattr(held, "other")) == ("a", False)


def test_the_package_shows_its_modules_and_loads_none_of_them():
    shown = dir(gqlib)
    folder = Path(gqlib.__file__).parent
    found = {
        path.stem
        for path in (
            *folder.glob("[a-z]*.py"),
            *(init.parent for init in folder.glob("*/__init__.py")),
        )
    }
    assert shown == sorted({*gqlib.__all__, *found})
    code = (
        "import sys, gqlib; dir(gqlib); before = set(sys.modules);"
        "assert not {'numba', 'sympy', 'matplotlib', 'xarray', 'gqlib.stability'} & before;"
        "print(gqlib.stability.spectral_abscissa([[-2.0]])); gqlib.no_such_module"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "-2.0\n"
    assert done.stderr.endswith(
        "AttributeError: module 'gqlib' has no attribute 'no_such_module'\n"
    )
    assert gqlib.__getattr__("tabular") is sys.modules["gqlib.tabular"]
    for name in ("_validate", "no_such_module"):
        with pytest.raises(AttributeError, match=rf"^module 'gqlib' has no attribute '{name}'$"):
            gqlib.__getattr__(name)


RESULTS = {
    "control": lambda: run_control(ControlSetting(episodes=3, max_steps=10), 2, 0),
    "engine": lambda: run("mountain_car", "sarsa", runs=2, seed=0, episodes=3, max_steps=10),
    "prediction": lambda: run_prediction(
        PredictionSetting(domains.boyan_chain(), steps=20, kept=2), 2, 0
    ),
    "optimum": lambda: policy_iteration(FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)),
}
SHOWN = {
    "control": [
        "ControlResult",
        "mean steps per episode",
        ">10<",
        ">10 to 10<",
        "capped episodes",
        ">6<",
    ],
    "engine": [
        "EngineResult",
        "mountain car",
        "sarsa",
        "mean return",
        ">-10<",
        ">-10 to -10<",
        "diverged runs",
    ],
    "prediction": [
        "PredictionResult",
        "gq",
        "mean error at the end",
        "its 95% interval",
        "diverged runs",
    ],
    "optimum": ["Optimum", "best action", ">2<", ">1<"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_short_line_a_table_in_a_notebook_and_equal_to_its_twin(name):
    one, two = RESULTS[name](), pickle.loads(pickle.dumps(RESULTS[name]()))
    assert one == two
    assert hash(one) == hash(two)
    assert len(repr(one)) < 160
    table = one._repr_html_()
    assert all(words in table for words in SHOWN[name])


def test_a_table_is_this_html_to_the_letter():
    assert html_table("", [("n", 3, 4), ("m", "<", 5)], head=("", "a & b", "c")) == (
        '<table><caption></caption><thead><tr><td></td><th scope="col">a &amp; b</th>'
        '<th scope="col">c</th></tr></thead><tbody><tr><th scope="row">n</th><td>3</td><td>4</td></tr>'
        '<tr><th scope="row">m</th><td>&lt;</td><td>5</td></tr>'
        "</tbody></table>"
    )
    assert html_table("t", []) == "<table><caption>t</caption><tbody></tbody></table>"
