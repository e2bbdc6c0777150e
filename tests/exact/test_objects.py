"""Objects: a short repr and a table in notebooks, equality and hashing by content, pickling, problems that stay."""

import copy
import dataclasses
import functools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

import gqlib
from gqlib import FiniteMDP, PredictionProblem, domains
from gqlib._objects import ByValue, Fixed, html_table, signature
from gqlib.control import ControlSetting, run_control
from gqlib.domains import baird_star, boyan_chain, cart_pole, five_state_walk, machine, two_state
from gqlib.domains.random_walk import random_walk
from gqlib.engine import run
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.experiments import load_experiment
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
    assert one is not two
    for other in (two, pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert one == other
        assert hash(one) == hash(other)
    assert one != "something else"
    assert all(one != MAKERS[key]() for key in MAKERS if key != name)
    if hasattr(one, "trajectory"):
        again = pickle.loads(pickle.dumps(one))
        first, second = (each.trajectory(40, np.random.default_rng(3)) for each in (one, again))
        assert first == second
        assert first != one.trajectory(40, np.random.default_rng(4))
        if hasattr(one, "truth"):
            np.testing.assert_array_equal(one.truth, again.truth)


@pytest.mark.parametrize("name", MAKERS)
def test_a_repr_is_short_and_names_the_class(name):
    made = MAKERS[name]()
    if name != "random_walk":
        assert len(repr(made)) < 160
    assert repr(made).startswith(type(made).__name__ + "(")


@pytest.mark.parametrize("array", ["features", "p_mu", "p_pi", "p_trace", "rewards", "xi"])
def test_a_problem_does_not_change(array):
    problem = MAKERS["problem"]()
    with pytest.raises(ValueError, match="read-only"):
        getattr(problem, array)[...] = 0.0
    with pytest.raises(
        AttributeError, match=f"PredictionProblem does not change; {array} should be given"
    ):
        setattr(problem, array, 0.0)
    with pytest.raises(AttributeError, match="does not change"):
        delattr(problem, array)
    assert problem == MAKERS["problem"]()


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
    mu, pi = np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])
    mdp, phi, still = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5), np.eye(2), np.zeros((2, 2))
    walks = [PredictionProblem(phi, chain, np.tile(pi, (2, 1)), [0, 1], [0.5, 0.5], 0.5, p_trace=still)
             for chain in (np.tile(mu, (2, 1)), np.eye(2))]  # fmt: skip
    one, other = map(CorrectedProblem.of, walks)
    assert np.array_equal(one.p_mu, other.p_mu)
    assert (one == CorrectedProblem.of(walks[0]), one == other) == (True, False)
    same = PredictionProblem.on_pairs(mdp, mu, mu, phi)
    one, other = (TextbookProblem.of(same, mu, mu, sigma) for sigma in (1.0, 1.0))
    assert one == other
    policy = np.array([[1.0, 0.0]])
    certain = PredictionProblem.on_pairs(mdp, policy, policy, phi)
    one, other = (TextbookProblem.of(certain, policy, policy, sigma) for sigma in (0.0, 1.0))
    assert np.array_equal(one.p_trace, other.p_trace)
    assert one != other


def test_what_a_problem_was_made_from_can_change_without_it():
    phi, chain, reward, xi = np.eye(2), np.full((2, 2), 0.5), np.ones(2), np.full(2, 0.5)
    problem = PredictionProblem(phi, chain, chain, reward, xi, 0.9)
    before = pickle.dumps(problem)
    for array in (phi, chain, reward, xi):
        array += 1.0
    assert pickle.loads(before) == problem
    moves = np.ones((1, 2, 1))
    mdp = FiniteMDP(moves, [[0.0, 1.0]], 0.5)
    moves *= 0.0
    assert mdp == MAKERS["mdp"]()
    with pytest.raises(AttributeError, match="FiniteMDP does not change; gamma"):
        mdp.gamma = 0.9
    with pytest.raises(ValueError, match="read-only"):
        mdp.is_terminal[0] = True


@pytest.mark.parametrize(
    ("call", "name", "wrong"),
    [
        (two_state, "reading", "episodic"),
        (machine, "features", "tiles"),
        (boyan_chain, "end", "stop"),
        (boyan_chain, "terminal_features", "none"),
        (baird_star, "features", "tabular"),
        (cart_pole, "policy", "random"),
        (cart_pole, "start", "anywhere"),
        (five_state_walk, "features", "wide"),
        (ControlSetting, "target", "best"),
        (ControlSetting, "memory", "hash"),
        (ControlSetting, "v", "late"),
        (ControlSetting, "method", "sarsa"),
        (ControlSetting, "ties", "last"),
        (ControlSetting, "start", "top"),
    ],
)
def test_the_type_of_a_choice_lists_what_the_call_takes(call, name, wrong):
    """So an editor offers the names, and a type checker refuses others, as the call does."""
    listed = get_args(get_type_hints(call)[name])
    assert len(listed) > 1
    with pytest.raises(
        ValueError,
        match=f"{name} is '{wrong}'; it should be one of {', '.join(map(repr, listed))}$",
    ):
        call(**{name: wrong})
    for each in listed:
        call(**{name: each})


def test_signatures_tell_apart_what_differs():
    values = [np.zeros(2), np.zeros((2, 1)), np.zeros(2, dtype=np.float32), [0.0, 0.0], (0.0, 0.0), {"a": np.zeros(2)},
              np.array([0.0, np.nan])]  # fmt: skip
    assert len({signature(value) for value in values}) == len(values)
    assert signature(np.array([np.nan])) == signature(np.array([np.nan]))


def test_signatures_reach_into_what_is_held():
    def made(scale, *, shift):
        raise NotImplementedError

    values = [{"a": 1.0}, {"a": 2.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}, {}, {"a": {"a": 1.0}}, [1.0], [2.0], [[1.0]],
              (), None, 1.0]  # fmt: skip
    given = [((), {}), ((1.0,), {}), ((2.0,), {}), ((), {"shift": 1.0}), ((), {"shift": 2.0})]
    values += [
        functools.partial(print),
        *(functools.partial(made, *args, **named) for args, named in given),
    ]
    for k, value in enumerate(values):
        assert [signature(value) == signature(other) for other in values] == [
            j == k for j in range(len(values))
        ]
        assert signature(value) == signature(copy.copy(value))
        assert hash(signature(value)) == hash(signature(copy.copy(value)))
    two, three = (
        functools.partial(made, np.zeros(2), shift=[np.arange(k)]) for k in (2, 3)
    )  # of no hash themselves
    assert hash(signature(two)) != hash(signature(three))


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


def test_the_table_of_a_problem_has_its_sizes_ranks_and_stability():
    table = MAKERS["problem"]()._repr_html_()
    for row in ("<th scope=\"row\">indices n</th><td>4</td>", "<th scope=\"row\">γ</th><td>0.9</td>",
                "<th scope=\"row\">rank of A, λ = 0</th><td>2</td><td>2</td><td>2</td>",
                "<th scope=\"row\">mean of TD, λ = 0</th><td>unstable</td><td>stable</td><td>stable</td>"):  # fmt: skip
        assert row in table
    star = domains.baird_star(reading="stacked").problem
    unstable = [
        np.linalg.eigvals(star.row_basis @ star.A(sigma, lam) @ star.row_basis.T).real.max() > 1e-9
        for lam in (0.0, 0.9) for sigma in (0.0, 0.5, 1.0)
    ]  # fmt: skip
    assert star._repr_html_().count("<td>unstable</td>") == sum(unstable)
    # at λ = γ = 1 nothing can be said, and the table is there all the same
    loop = PredictionProblem(np.eye(1), [[1.0]], [[1.0]], [0.0], [1.0], 1.0)
    assert "<td>on the border</td>" in loop._repr_html_()
    assert domains.two_state(0.9)._repr_html_().startswith("<p>two-state (continuing)</p><table>")
    assert '<th scope="row">terminal states</th><td>0</td>' in MAKERS["mdp"]()._repr_html_()


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


def test_a_table_of_many_states_is_cut_and_says_so():
    chain = random_walk(41).mdp
    table = policy_iteration(chain)._repr_html_()
    assert table.count("<tr>") == 21
    assert "43 states in all" in table


def test_a_run_that_diverged_is_counted_and_no_mean_is_made_up():
    result = run(
        "mountain_car", "sarsa", runs=2, seed=0, episodes=3, max_steps=50, alpha=1e40, lam=0.9
    )
    table = result._repr_html_()
    assert result.diverged.all()
    assert '<th scope="row">diverged runs</th><td>2</td>' in table
    assert '<th scope="row">mean return</th><td>nan</td>' in table
    assert "interval" not in table


def test_a_table_is_this_html_to_the_letter():
    assert html_table("", [("n", 3, 4), ("m", "<", 5)], head=("", "a & b", "c")) == (
        '<table><caption></caption><thead><tr><td></td><th scope="col">a &amp; b</th>'
        '<th scope="col">c</th></tr></thead><tbody><tr><th scope="row">n</th><td>3</td><td>4</td></tr>'
        '<tr><th scope="row">m</th><td>&lt;</td><td>5</td></tr>'
        "</tbody></table>"
    )
    assert html_table("t", []) == "<table><caption>t</caption><tbody></tbody></table>"


def test_what_does_not_change_says_what_it_is():
    mdp = random_walk(3).mdp
    with pytest.raises(
        AttributeError, match=r"^FiniteMDP does not change; gamma should be left as it is$"
    ):
        del mdp.gamma
    with pytest.raises(AttributeError, match=r"^FiniteMDP does not change"):
        mdp.gamma = 0.5


def test_an_experiment_is_shown_by_its_size_and_what_varies():
    table2 = load_experiment("table2")
    assert repr(table2) == "Experiment('table2', 612 settings, 300 runs each, seed=2019)"
    single = dataclasses.replace(table2, settings=table2.settings[:1], runs=1)
    assert repr(single) == "Experiment('table2', 1 setting, 1 run each, seed=2019)"
    shown = table2._repr_html_()
    assert "settings</th><td>612<" in shown
    assert "alpha</th><td>0.001, 0.002<" in shown
    assert "sigma</th><td>0, 0.02, 0.04, 0.06, 0.08, 0.1, ...<" in shown
    assert "tilings" not in shown  # which is the same in all
