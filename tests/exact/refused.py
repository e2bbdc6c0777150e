"""Calls that are wrong by what an argument means, or by what goes with it: by function, how the refusal begins and why.

`test_ranges` makes each of them: the derived call of `fuzz_calls` with these arguments changed.
"""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from sympy import Matrix

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import boyan_chain, collision, random_problem, two_state
from gqlib.learners.corrected import VariantTables
from gqlib.methods import METHODS, Task, means
from gqlib.poisson import Affine
from gqlib.symbolic import GAMMA

EYE, NAN, INF, HUGE = np.eye(2), math.nan, math.inf, 2**40
SWAP, NONE, ONES = [[0.0, 1.0], [1.0, 0.0]], np.zeros((2, 2)), np.ones((2, 1))
CUT = two_state(0.5, "bootstrap").problem
ENDING = FiniteMDP([[[0.5, 0.5]] * 2, [[0.0, 1.0]] * 2], NONE, 1.0, terminal=[1])
STAYING = FiniteMDP([[[1.0, 0.0]] * 2, [[0.0, 1.0]] * 2], NONE, 1.0, terminal=[1])
SLOW = FiniteMDP(
    [[[1 - 1e-8, 1e-8, 0.0]] * 2, [[1 - 1e-8, 0.0, 1e-8]] * 2, [[0.0, 0.0, 1.0]] * 2],
    np.zeros((3, 2)), 1.0, terminal=[2],
)  # fmt: skip
PARTS = {"p_mu": SWAP, "p_pi": SWAP, "rewards": [1.0, 0.0], "xi": [0.5, 0.5], "gamma": 0.9}
BLIND = PredictionProblem(NONE, **PARTS)
SURE = PredictionProblem(ONES, **PARTS | {"gamma": 1.0})
ENDS = PredictionProblem(ONES, **PARTS | {"p_mu": [[0, 0.5], [1, 0]]})
OTHER = PredictionProblem(ONES, **PARTS | {"xi": [0.9, 0.1]})
WEIGHTED = PredictionProblem(ONES, **PARTS, p_trace=0.5 * np.array(SWAP))
NEAR, BASE = two_state(1.0 - 1e-16).problem, random_problem(np.random.default_rng(23), 3, 2, 2)
SKEWED = PredictionProblem(
    BASE.features @ [[1.0, 1.0], [0.0, 1e-13]], BASE.p_mu, BASE.p_pi, BASE.rewards, BASE.xi, 0.9
)
RARE = PredictionProblem(EYE, [[0.25, 0.75]] * 2, EYE, [0, 0], [0.25, 0.75], 0.9)
TABLES = VariantTables(ONES, ONES, np.ones(2))
POISSON = {"chain": SWAP, "carried": SWAP, "xi": [0.5, 0.5], "features": ONES, "decay": 0.5}
POISSON |= {"f": Affine(np.zeros(2), ONES)}
OWNED = {"mdp": ENDING, "mu": np.full((2, 2), 0.5), "pi": EYE, "features": np.eye(4)}
OWNED |= {"start": [1.0, 0.0], "theta0": None, "reading": "pairs"}
ONE = {"features": [[1.0]], "p_mu": [[1.0]], "p_pi": [[1.0]], "rewards": [1.0], "xi": [1.0]}
STATES, STATE = Task.of(collision()), FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.9)
BLANK = Task("blank", STATE, [[0.5, 0.5]], [[0.75, 0.25]], [[0.0]])
WILD = Task("wild", STATE, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0]])
TD, ETD = METHODS["TD(λ)"], METHODS["ETD(λ)"]
TASK = {"mdp": STATE, "mu": [[0.5, 0.5]], "pi": [[0.75, 0.25]], "features": [[1.0]], "on": "states"}
TASK |= {"start": None, "theta0": None}
NO_SAMPLE = "sums is", {"sums": [100.0, 130.0, 1100.0, 10354.0], "runs": 5}

REFUSED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "mdp.FiniteMDP": [
        ("transitions sums to", {"transitions": np.full((2, 2, 2), 0.45)}),
        ("transitions sums to", {"transitions": np.full((2, 2, 2), 1.0)}),
        ("transitions sums to", {"transitions": [[[0.5, 0.4]] * 2, NONE], "terminal": [1]}),
        ("transitions is", {"transitions": [[[1.5, -0.5]] * 2] * 2}),
        ("transitions has", {"transitions": np.ones((2, 2, 1))}),
        ("rewards has", {"rewards": np.ones((1, 2))}),
        ("gamma is 1.0; without", {"gamma": 1.0}),
        ("terminal is 2;", {"terminal": (2,)}),
        ("terminal is -1;", {"terminal": (-1,)}),
        ("terminal is 0.5;", {"terminal": (0.5,)}),
        ("terminal is 1;", {"terminal": 1}),
        ("terminal is array(1);", {"terminal": np.array(1)}),
    ],
    "mdp.FiniteMDP.q": [
        ("gamma is 1.0; under", {"self": STAYING, "policy": EYE}),
        ("gamma is 0.99", {"self": FiniteMDP([SWAP, SWAP], NONE, 1 - 1e-15), "policy": EYE}),
    ],
    "mdp.FiniteMDP.from_gym": [
        ("env is", {"env": env}) for env in (None, SimpleNamespace(P=[1]), SimpleNamespace(P={}))
    ],
    "mdp.stationary_distribution": [
        ("chain has 2 recurrent", {"chain": EYE}),
        ("chain has 2 recurrent", {"chain": [[0.2, 0.4, 0.4], [0, 1, 0], [0, 0, 1]]}),
        ("chain sums to 0.9", {"chain": [[0.5, 0.4], [0.5, 0.5]]}),
        ("chain is -0.5", {"chain": [[1.5, -0.5], [0.5, 0.5]]}),
        ("chain has shape (1, 2)", {"chain": [[0.5, 0.5]]}),
        ("chain leaves a set of states", {"chain": [[0.5, 0.5], [1e-160, 1.0]]}),
    ],
    "prediction.PredictionProblem": [
        (name, {"features": ONES, "p_trace": SWAP} | PARTS | changes)
        for name, changes in (
            ("p_mu sums to 1.1", {"p_mu": [[0.5, 0.6], [1, 0]]}),
            ("p_pi is -0.5", {"p_pi": [[-0.5, 1.5], [1, 0]]}),
            ("p_pi has", {"p_pi": [[1.0]]}),
            ("rewards has", {"rewards": [1.0]}),
            ("xi is", {"xi": [0.0, 0.0]}),
            ("xi is", {"xi": [1.5, -0.5]}),
            ("xi has", {"xi": np.ones(3)}),
            ("p_trace sums to 2", {"p_trace": [[1.0, 1.0], [0, 0]]}),
            ("rewards_pi has", {"rewards_pi": [0.0]}),
        )
    ],
    **{
        f"prediction.PredictionProblem.{name}": [
            ("start is None;", {"mdp": ENDING}),
            ("start is [0, 1];", {"mdp": ENDING, "start": [0, 1]}),
            ("start sums to 0.5", {"mdp": ENDING, "start": [0.5, 0.0]}),
            ("start has", {"mdp": ENDING, "start": [1.0]}),
            ("start is", {"start": [0.5, 0.5]}),
            ("mu sums to 0.5", {"mu": [[0.5, 0.0], EYE[1]]}),
            ("pi sums to 0.5", {"pi": [[0.5, 0.0], EYE[1]]}),
            ("mu never ends", {"mdp": STAYING, "start": [1.0, 0.0]}),
            ("features has", {"features": np.ones((5, 2))}),
            (
                "mu ends episodes so late",
                {"mdp": SLOW, "mu": [[1, 0]] * 3, "pi": [[1, 0]] * 3, "start": [1, 0, 0]}
                | {"features": np.ones((size, 1))},
            ),
        ]
        for name, size in (("on_pairs", 6), ("on_states", 3))
    },
    "prediction.LinearPrediction.A": [("lam is 1.0 with gamma 1.0;", {"self": SURE, "lam": 1.0})],
    **{
        f"prediction.LinearPrediction.{name}": [("gamma·lam is", {"self": NEAR, "lam": 1.0})]
        for name in ("b", "gamma_v", "fixed_point", "trace_weights", "rank_A")
    },
    "prediction.LinearPrediction.solve_M": [
        ("features are nearly collinear", {"self": SKEWED, "vector": np.ones(2)}),
        ("vector", {"vector": [1e160, 0.0]}),
        ("vector has", {"vector": np.ones(3)}),
    ],
    "optimal.policy_iteration": [("mdp has gamma 1.0 and", {"mdp": STAYING})],
    "optimal.value_iteration": [
        ("mdp has gamma 1.0;", {"mdp": STAYING}),
        ("tolerance is 0;", {"tolerance": 0}),
        ("tolerance is 1e-300;", {"tolerance": 1e-300}),
    ],
    **{
        f"stability.{name}": [("matrix has shape (2, 3)", {"matrix": np.ones((2, 3))})]
        for name in ("spectral_abscissa", "numerical_abscissa", "numerical_range", "growth")
    },
    "stability.transient_peak": [
        ("matrix has spectral abscissa 0.5;", {"matrix": [[0.5]]}),
        ("matrix has spectral abscissa 0;", {"matrix": [[0.0]]}),
    ],
    "stability.phase_diagram": [
        ("problem has features that", {"problem": BLIND}),
        ("lams is", {"lams": [-0.1, 0.5]}),
        ("lams is", {"lams": [0.5, 1.1]}),
    ],
    "stability.sign_changes": [("function is", {"function": lambda x: NAN})],
    **{
        f"timescales.{name}": [("problem has no feature", {"problem": BLIND})]
        for name in ("necessary_eta", "eta_crossings", "eta_star")
    },
    "timescales.sufficient_eta": [
        ("problem has no feature", {"problem": BLIND}),
        ("problem has a γE[v] that", {"problem": CUT, "lam": 0.99}),
    ],
    "timescales.pencil": [
        ("a has shape (2, 3)", {"a": np.ones((2, 3))}),
        ("m has", {"m": np.eye(3)}),
        ("s is", {"s": complex(1.0, INF)}),
        ("s is", {"s": NAN}),
    ],
    "timescales.rare_action_problem": [("far has", {"far": [[1.0, 2.0]]})],
    "variance.trace_first_moments": [
        ("problem has a trace that", {"problem": WEIGHTED, "c": None}),
        ("c is", {"c": [1.0, 1.0, 1.0, -0.5]}),
        ("c has", {"c": np.ones(3)}),
        ("c carries on 1.8", {"lam": 1.0, "c": np.full(4, 2.0)}),
    ],
    "variance.trace_second_moments": [
        ("problem has a trace that", {"problem": WEIGHTED, "c": None}),
        ("lam is 1; from", {"problem": RARE, "lam": 1.0, "c": [3.0, 0.0]}),
    ],
    "variance.second_moment_limit": [("problem has a trace that", {"problem": WEIGHTED, "c": ONES})],
    "variance.stationary_moments": [("alpha is 5", {"alpha": 5.0})],
    "variance.action_covariance": [("features has", {"features": [[1.0], [2.0]]})],
    "variance.gq_noise": [
        ("problem has 2 indices", {"problem": SURE, "theta": [1.0], "omega": [1.0]}),
        ("omega has", {"omega": np.ones(3)}),
    ],
    "long_run.long_run_covariance": [
        ("problem has episodes that end", {"problem": CUT}),
        ("problem has episodes that end", {"problem": ENDS, "bootstrap": ONES, "theta": [0.0]}),
        ("theta leaves a mean step", {"theta": [9.0, 9.0]}),
        ("bootstrap has", {"bootstrap": np.ones((3, 2))}),
        ("c has", {"c": np.ones(3)}),
    ],
    "long_run.stationary_error": [
        ("drift is not Hurwitz;", {"drift": np.diag([-1.0, 0.0])}),
        ("drift has eigenvalues that", {"drift": np.diag([-1.0, -1e-30])}),
        ("drift has shape (2, 3)", {"drift": np.ones((2, 3))}),
        ("noise has", {"noise": np.eye(3)}),
    ],
    "poisson.affine_poisson": [
        ("xi is changed by chain", POISSON | {"xi": [1.0, 0.0]}),
        ("chain has more than one", POISSON | {"chain": EYE, "carried": EYE}),
        ("carried exceeds chain", POISSON | {"carried": np.full((2, 2), 0.5)}),
        ("f has a slope of shape", POISSON | {"features": np.ones((2, 3))}),
    ],
    "poisson.poisson_solution": [
        ("tables has u of shape", {"tables": TABLES}),
        ("problem has episodes that end", {"problem": ENDS, "tables": TABLES}),
        ("problem has a xi that", {"problem": OTHER, "tables": TABLES}),
        ("lam is 1 and problem has", {"problem": SURE, "tables": TABLES, "lam": 1.0}),
        ("problem has no fixed point", {"problem": SURE, "tables": TABLES, "lam": 0.0}),
        (
            "tables has a trace weight",
            {"problem": SURE, "tables": VariantTables(ONES, ONES, np.full(2, 2.0))},
        ),
    ],
    "poisson.limit_noise": [("reward_variance reaches", {"reward_variance": -np.ones((4, 4))})],
    "poisson.mean_increments": [("change has", {"change": np.ones((4, 3))})],
    "poisson.lyapunov_matrix": [
        ("drift has spectral abscissa 0;", {"drift": [[0.0]]}),
        ("drift has shape (1, 2)", {"drift": [[-1.0, 0.0]]}),
    ],
    "poisson.limit_covariance": [
        ("drift plus shift", {"drift": [[-1.0]], "noise": [[1.0]], "shift": 1.0}),
        ("noise has", {"noise": [[1.0]], "drift": -EYE}),
    ],
    "poisson.Affine": [("slope has", {"slope": np.zeros((2, 3))})],
    "poisson.Affine.__call__": [("trace has", {"trace": np.zeros(3)})],
    "emphatic.followon": [
        ("interest is", {"interest": -np.ones(4)}),
        ("problem has a trace that is cut", {"problem": CUT}),
    ],
    "emphatic.emphasis": [("interest has", {"interest": np.ones(3)})],
    "emphatic.emphatic_vector": [("problem has a trace that is cut", {"problem": CUT})],
    "emphatic.emphatic_matrix": [("gamma is 1.0;", {"problem": two_state(1.0).problem})],
    "emphatic.followon_limit": [
        ("ratios has", {"ratios": np.ones(3)}),
        ("ratios is", {"ratios": -np.ones(4)}),
    ],
    "emphatic.followon_second_moment": [
        ("problem has a trace that is cut", {"problem": CUT}),
        ("problem has gamma", {"ratios": np.full(4, 9.0)}),
    ],
    "ridge.ridge_joint": [("a has shape (2, 3)", {"a": np.ones((2, 3))})],
    "ridge.ridge_pencil": [("m has", {"m": [[1.0]]})],
    "ridge.safe_kappa": [("a is", {"a": a}) for a in (np.ones((2, 2)), [[0.0]], [[1e-320]])],
    "symbolic.exact": [
        ("x is", {"name": "x", "value": value})
        for value in (0.5, np.float32(0.5), True, None, [1], INF, NAN, "half", "1/0", "")
    ],
    "symbolic.exact_matrix": [
        ("x is", {"name": "x", "value": value})
        for value in ([[1, 2], [3]], [[[1]], [2]], [[[1, 2]]], 1, np.array(1), "12", b"12", [0.5])
    ],
    **{
        f"symbolic.{function}": [(f"{name} has shape", {name: [[1, 0, 1], [0, 1, 1]]})]
        for function, name in (("stationary_law", "chain"), ("critical_values", "matrix"))
    },
    "symbolic.eigenvalues": [
        ("matrix has shape", {"matrix": [[1, 2]]}),
        ("matrix leaves a factor of", {"matrix": [[0, 0, 2], [1, 0, 1], [0, 1, 0]]}),
    ],
    "symbolic.solve": [
        ("matrix has shape", {"matrix": [[1, 2]], "right": [1]}),
        ("matrix is", {"matrix": [[1, 1], [1, 1]], "right": [1, 2]}),
        ("right has shape (3, 1)", {"matrix": [[1, 0], [0, 1]], "right": [1, 2, 3]}),
    ],
    "symbolic.pair_chain": [
        ("transitions is", {"transitions": moves, "policy": policy})
        for moves, policy in (([], [[1, 0]]), (3, [[1]]), ([[[1, 0]], [[0, 1]]], [[1]]))
    ],
    "symbolic.twin": [
        (
            f"{name} is off its fractions",
            {"problem": PredictionProblem(**ONE | {name: np.sqrt(0.5) * np.array(ONE[name])}, gamma=0.5)}
            | {"largest_denominator": 1000},
        )
        for name in ONE
    ],
    "symbolic.to_array": [("values has no number", {"matrix": Matrix([GAMMA]), "values": {}})],
    "tabular.operator.mixed_operator": [
        (
            "lam is 1.0 with gamma 1.0;",
            {"mdp": STAYING, "lam": 1.0, "mu": [[1.0, 0.0]] * 2},
        ),
        ("pi has", {"pi": EYE[:1]}),
        ("mu has", {"mu": EYE[:1]}),
    ],
    "tabular.operator.mixture_policy": [
        ("mu has", {"mu": EYE[:, :1]}),
        ("pi sums to 2", {"pi": 2 * EYE}),
    ],
    "tabular.operator.policy_distance": [("mu sums to 2", {"mu": 2 * EYE})],
    "tabular.one_step.sarsa": [
        ("q has shape", {"q": np.zeros((1, 2))}),
        ("q has shape", {"q": np.zeros((2, 1))}),
    ],
    "tabular.one_step.expected_sarsa": [("pi has", {"pi": EYE[:1]})],
    "tabular.n_step.n_step_q_sigma": [("mu gives probability 0", {"mu": EYE[[1, 0]]})],
    "tabular.errors.bias_variance": [
        ("tables has", {"tables": np.zeros((1, 2, 2))}),
        ("tables has", {"tables": np.zeros((3, 2, 1))}),
    ],
    "tabular.errors.rms_error": [("tables has", {"tables": np.zeros((3, 2))})],
    "domains.random_walk.random_walk": [("length is 4; it should be odd", {"length": 4})],
    "domains.episodes.Episode": [
        ("states has", {"states": [0, 1]}),
        *(
            (name, {name: wrong})
            for name in ("states", "actions")
            for wrong in ([0.5, 1.0, 2.0, 3.0], [-1, 0, 1, 0], [True, False, True, True])
        ),
    ],
    **{
        f"domains.episodes.{name}": [("start", {"mdp": ENDING, "start": law}) for law in laws]
        for name, laws in (
            ("sample_episode", ([0.5, 0.4], [0.0, 1.0])),
            ("TabularTask", ([0.5, 0.4], [0.0, 1.0])),
        )
    },
    "domains.own.own_domain": [
        (name, OWNED | changes)
        for name, changes in (
            ("start is None", {"start": None}),
            ("start is", {"start": [0.5, 0.5]}),
            ("mu never takes", {"mu": [[1.0, 0.0]] * 2, "pi": [[0.0, 1.0]] * 2}),
            ("features has", {"features": np.eye(3)}),
            ("theta0 has", {"theta0": [1.0]}),
            ("mu does not reach", {"mdp": STAYING}),
        )
    ],
    "domains.base.Domain": [
        ("theta0 has", {"theta0": [0.0]}),
        ("sampler takes (steps); it", {"sampler": lambda steps: None}),
    ],
    "domains.boyan_chain.boyan_chain": [("episode_steps is 20", {"end": "jump", "episode_steps": 20})],
    "domains.random_problems.domain_on_pairs": [("mdp has terminal states (1,)", {"mdp": ENDING})],
    "domains.collision.collision": [("features has", {"features": np.ones((7, 2))})],
    "methods.catalogue.Method": [
        *(
            (f"{field} is", {field: value})
            for field, bad in {
                "trace": ("cut", None),
                "update": ("gtd3", 7),
                "error": ("half", ()),
                "emphasis": (1, "yes"),
                "sigma": (-0.01, 1.01, "a"),
                "beta": (-0.01, 1.01, "a"),
                "kappa": (-0.01, None),
                "source": (None, 7),
                "on": ("states", ("state",), None),
            }.items()
            for value in bad
        ),
        ("emphasis is True;", {"trace": "retrace", "emphasis": True}),
        ("emphasis is True;", {"trace": "uncut", "emphasis": True}),
    ],
    "methods.task.Task": [
        (name, TASK | changes)
        for name, changes in (
            ("mu", {"mu": [[0.5, 0.6]]}),
            ("pi", {"pi": [[0.5, 0.6]]}),
            ("features has", {"features": [[1.0], [1.0]]}),
            ("features has", {"on": "pairs"}),
            ("theta0 has", {"theta0": [1.0, 2.0]}),
            (
                "features are not zero in",
                {"mdp": ENDING, "mu": EYE, "pi": EYE, "features": ONES, "start": [1.0, 0.0]},
            ),
        )
    ],
    "methods.task.Task.of": [
        ("domain is boyan", {"domain": boyan_chain(end="absorb", episode_steps=5)}),
        ("features are not zero in", {"domain": boyan_chain(states=13, gamma=1.0)}),
    ],
    "methods.task.Task.follow": [
        ("draws has", {"draws": np.zeros((3, 1, 1))}),
        ("draws is", {"draws": np.zeros((1, 2, 1))}),
        ("draws is", {"draws": np.full((2, 2, 1), -0.1)}),
        ("draws is", {"draws": np.full((2, 2, 1), 1.0)}),
    ],
    "methods.task.Task.error": [("theta has", {"theta": [1.0] * 9})],
    "methods.mean.means": [
        ("method is defined on states", {"task": Task.of(collision(), on="pairs"), "method": METHODS["V-trace(λ)"]}),
        ("lam is", {"task": STATES, "method": METHODS["AᵀTD"], "lam": 0.5}),
    ],
    "methods.mean.carried": [("c has", {"c": [1.0]})],
    "methods.mean.joint_of": [
        ("task has no feature", {"task": BLANK, "method": TD, "given": means(BLANK, TD, 0.5)})
    ],
    "methods.mean.fixed_point": [
        ("given has an A that is", {"task": BLANK, "given": means(BLANK, TD, 0.5)})
    ],
    "methods.noise.trace_moments": [
        ("lam is 0: the square of the follow-on", {"task": WILD, "method": ETD, "lam": 0.0}),
        ("lam is 0.9: the square of the trace", {"task": WILD, "method": TD, "lam": 0.9}),
    ],
    "methods.noise.increment_covariance": [
        ("theta leaves a mean step", {"task": WILD, "method": TD, "lam": 0.0, "theta": [2.0]}),
        ("theta has", {"task": WILD, "method": TD, "lam": 0.0, "theta": [1.0, 2.0]}),
    ],
    "methods.limits.largest_step": [
        ("joint has", {"joint": [[-1.0, 0.0]]}),
        ("joint is", {"joint": [[-1e-310]]}),
    ],
    "methods.limits.error_after": [
        ("method is LSTD", {"method": METHODS["LSTD(λ)"]}),
        ("alphas has", {"alphas": 0.1}),
        ("doublings is 41;", {"doublings": 41}),
    ],
    "methods.limits.ratio_windows": [("method has the update semi", {"method": TD})],
    "methods.steps.run_method": [
        ("task is []", {"task": []}),
        ("task holds", {"task": [STATES] * 5}),
        ("alphas has", {"alphas": 0.1}),
        ("alphas is", {"alphas": [0.1, -0.1]}),
    ],
    "methods.steps.method_step": [("earlier is 3;", {"earlier": 3})],
    "stats.cases.case_counts": [
        ("scores is 3.5;", {"scores": 3.5}),
        ("scores has shape", {"scores": [1.0], "score_at_0": None, "score_at_1": None}),
        ("scores is", {"scores": [1.0, NAN]}),
        ("score_at_0 is 1.5 and", {"score_at_0": 1.5, "score_at_1": None}),
        ("score_at_0 is None and", {"score_at_0": None, "score_at_1": 1.5}),
        ("score_at_0 has shape", {"scores": np.ones((2, 3, 4))}),
    ],
    "stats.cases.case_null": [("n is", {"n": HUGE}), ("cells is", {"cells": HUGE})],
    "stats.cases.CaseNull.p_value": [("alternative is", {"alternative": "more"})],
    "stats.cases.CaseNull.simulate": [("size is", {"size": HUGE})],
    "stats.comparisons.holm": [("p_values", {"p_values": bad}) for bad in ([], [0.5, 1.2], [-0.1])],
    "stats.comparisons.paired_difference": [
        ("rng is None", {"method": "BCa", "rng": None}),
        ("method is 'z'", {"method": "Z"}),
        ("first", {"first": [1.0], "second": [1.0]}),
        ("first reaches", {"first": [1e101, 1.0, 1.0, 1.0]}),
        ("second reaches", {"second": [1e101, 1.0, 1.0, 1.0]}),
    ],
    "stats.comparisons.probability_of_improvement": [
        ("second holds", {"second": [1.0, 2.0, 3.0], "paired": True}),
        ("first holds 1", {"first": [1.0]}),
        ("second holds 1", {"second": [1.0]}),
    ],
    "stats.comparisons.paired_ratio": [
        ("first is", {"first": [1.0, 0.0, 1.0, 1.0]}),
        ("second is", {"second": [1.0, INF, 1.0, 1.0]}),
        ("first is", {"first": [1.0], "second": [1.0]}),
    ],
    "stats.ends.better_than_both": [
        ("middle is", {"middle": [NAN, 1.0, 2.0, 3.0]}),
        ("at_zero is", {"test": "t", "at_zero": [INF, 1.0, 2.0, 3.0]}),
        ("at_one is", {"at_one": [-INF, 1.0, 2.0, 3.0]}),
        ("at_one has", {"at_one": [1.0, 2.0]}),
    ],
    "stats.ends.paired_p_values": [
        ("first holds 1", {"first": [1.0], "second": [2.0]}),
        ("first is", {"first": [0.0, 2e100, 0.0, 0.0]}),
        ("first is", {"first": 1.0, "second": 2.0}),
    ],
    **{
        f"stats.ends.{name}": [
            ("first is", {"first": [-INF, 1.0, 1.0, 1.0]}),
            ("second is", {"second": [NAN, 1.0, 1.0, 1.0]}),
            ("second has", {"second": [1.0, 2.0]}),
        ]
        for name in ("sign_p_values", "signed_rank_p_values")
    },
    **{
        f"stats.ends.{name}": [
            *(("scores has", {"scores": np.zeros(shape)}) for shape in ((3,), (2, 4), (3, 2, 2))),
            ("scores is not finite", {"scores": [[1.0, INF, 1.0, 1.0]] * 3}),
        ]
        for name in ("compare_with_ends", "block_repetitions", "repeat_procedure")
    },
    "stats.ends.confirm_winner": [
        ("scores has", {"scores": np.zeros((2, 4))}),
        ("scores holds 3", {"scores": np.zeros((3, 3))}),
    ],
    "stats.ends.verdict": [
        *((name, {name: [1.0, 2.0]}) for name in ("dynamic", "at_one")),
        *((name, {name: [1.0, 2.0, NAN, 0.0]}) for name in ("dynamic", "at_zero", "at_one")),
    ],
    "stats.ends.cell": [("fields are", {"p": 5.5})],
    "stats.granularity.grim": [
        *(("percentage is", {"percentage": bad}) for bad in (101.0, -1.0, 20.44, "a third")),
        *(("denominators is", {"denominators": bad}) for bad in (0, [4.5], np.array(3), 10**9)),
        ("decimals is 31;", {"decimals": 31}),
        ("rounding is 'up'", {"rounding": "up"}),
    ],
    "stats.granularity.grim_counts": [
        ("percentages is", {"percentages": "50"}),
        ("denominator is", {"denominator": 10**9}),
        ("remainder is", {"percentages": [50.0, 50.0], "remainder": 2}),
    ],
    "stats.intervals.bootstrap_interval": [
        ("axis is 1;", {"axis": 1}),
        ("axis is -2;", {"axis": -2}),
        ("sample reaches", {"sample": [1.0, 1e101]}),
        ("resamples is", {"resamples": HUGE}),
        ("method is", {"method": "magic"}),
        *(
            ("statistic is", {"statistic": f})
            for f in ("mean", np.sin, lambda runs: runs[99], lambda runs: f"{runs}", lambda: 1.0)
        ),
    ],
    "stats.intervals.student_interval": [
        ("variance is", {"variance": -1.0}),
        ("variance has", {"mean": [1.0], "variance": [1.0, 2.0]}),
        ("runs is", {"runs": HUGE}),
    ],
    "stats.intervals.tolerance_interval": [("sample holds 3", {"sample": np.arange(3.0)})],
    "stats.intervals.variance_interval": [
        NO_SAMPLE,
        ("sums", {"sums": np.ones(3)}),
        ("sums is", {"sums": [20.0, 130.0, 1100.0, 1e120], "runs": 5}),
        ("runs is", {"runs": HUGE}),
    ],
    "stats.intervals.bounded_interval": [
        ("low is", {"sample": [0.1, 0.9], "low": low, "high": high})
        for low, high in ((0.2, 1.0), (0.0, 0.5), (1.0, 0.0))
    ],
    "stats.strata.interquartile_mean": [
        ("strata is empty", {"strata": []}),
        ("strata holds 1", {"strata": [[1.0]]}),
        ("strata", {"strata": [np.ones((3, 2))]}),
    ],
    "tiles3.tiles": [
        *(("ihtORsize is", {"ihtORsize": bad}) for bad in (0, True, 2.5)),
        *(("floats is", {"floats": bad}) for bad in (0.1, "ab", {0: 0.1}, {0.1}, [NAN])),
        ("ints is 0.5", {"ints": [0.5]}),
        ("numtilings is", {"numtilings": HUGE}),
    ],
    "tiles3.tileswrap": [
        *(("wrapwidths", {"wrapwidths": bad}) for bad in ([1, 2, 3], [-1], 1, [2.5], np.array(3))),
        ("floats is", {"floats": 0.1}),
    ],
    "tiles3.tile_hash": [("coordinates is ([1],)", {"coordinates": ([1],)})],
    "rltoolkit.random_table": [("rng is", {"rng": np.random.RandomState(0)})],
    "rltoolkit.tile_coordinates": [
        *(
            ("floats is", {"floats": bad})
            for bad in (0.1, "ab", {0: 0.1}, {0.1}, np.array(0.1), range(2**70), list, [[0.1]], [NAN])
        ),
        ("floats is", {"num_tilings": 8, "floats": [2.0**50 * 1.001]}),
        *(("ints is", {"ints": bad}) for bad in (3, [0.5], [True], [2**63], [-(2**63) - 1])),
        ("num_tilings is", {"num_tilings": 2**31}),
    ],
    "rltoolkit.hash_tile": [
        *(("coordinates is", {"coordinates": bad}) for bad in ([], 3, [1.0])),
        ("size is", {"size": 2**32 + 1}),
        ("table has", {"table": np.zeros(2047, dtype=int)}),
        *(
            ("table has the entry", {"coordinates": [5], "table": np.full(2048, bad)})
            for bad in (-1, 2**32)
        ),
    ],
    "rltoolkit.hash_tiles": [
        *(("coordinates has", {"coordinates": np.zeros(s, dtype=int)}) for s in ((0, 4), (4, 0))),
        *(
            ("coordinates is", {"coordinates": bad})
            for bad in ([[1.0]], [[True]], [[1], [2, 3]], [[2**64]])
        ),
        ("table is", {"table": np.zeros(2048)}),
    ],
    "rltoolkit.get_tiles": [("size is", {"size": 2**32 + 1})],
}  # fmt: skip
