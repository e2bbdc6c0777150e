"""Tabular learners as pure functions: a table and an episode in, a new table out.

`one_step` has Sarsa, Q-learning, Expected Sarsa and Q(σ); `n_step` their n-step forms; `traces` Sarsa(λ), Q^π(λ),
Q(σ, λ) and the λ-return; `operator` the exact mixed operator. A table is linear in one-hot features, so a step with a
trace is that of a learner of `gqlib.learners.texts`; each has a text of its own, so that "special case of" is a
statement that a test can refute. `gqlib.fast.tabular` has many episodes at once, and on-policy control.
"""

from gqlib.tabular.n_step import n_step_q_sigma, n_step_sarsa, n_step_tree_backup
from gqlib.tabular.one_step import expected_sarsa, q_learning, q_sigma, sarsa
from gqlib.tabular.operator import (
    contraction_limit,
    mixed_fixed_point,
    mixed_operator,
    mixture_policy,
    policy_distance,
)
from gqlib.tabular.traces import (
    lambda_return,
    q_pi_lambda,
    q_sigma_lambda,
    q_sigma_lambda_offline,
    sarsa_lambda,
    td_error_return,
    td_errors,
)

__all__ = [
    "contraction_limit",
    "expected_sarsa",
    "lambda_return",
    "mixed_fixed_point",
    "mixed_operator",
    "mixture_policy",
    "n_step_q_sigma",
    "n_step_sarsa",
    "n_step_tree_backup",
    "policy_distance",
    "q_learning",
    "q_pi_lambda",
    "q_sigma",
    "q_sigma_lambda",
    "q_sigma_lambda_offline",
    "sarsa",
    "sarsa_lambda",
    "td_error_return",
    "td_errors",
]
