"""How long an agent plays: episodes, steps, or until a callback asks to stop."""

import pytest

from gqlib.control._budget import Budget, planned


@pytest.mark.parametrize(
    ("episodes", "steps", "finished", "taken", "over"),
    [
        (3, 10, 2, 9, False),
        (3, 10, 3, 0, True),  # enough episodes
        (3, 10, 0, 10, True),  # enough steps
        (3, 10, 4, 11, True),
        (3, None, 2, 10**9, False),
        (None, 10, 10**9, 9, False),
    ],
)
def test_a_budget_is_over_with_the_first_of_its_limits(episodes, steps, finished, taken, over):
    budget, _ = planned(episodes, steps, None)
    assert budget.over(finished, taken) is over


def test_what_is_shown_counts_whichever_are_fewer():
    assert planned(3, 10, None)[1] == 3
    assert planned(30, 10, None)[1] == 10
    assert planned(None, 7, None)[1] == planned(7, None, None)[1] == 7


@pytest.mark.parametrize(
    ("answer", "stops"), [(True, True), (False, False), (None, False), (1, False), ("yes", False)]
)
def test_only_true_asks_to_stop(answer, stops):
    seen = []
    budget = Budget(1, 1, lambda *episode: seen.append(episode) or answer)
    assert budget.told((4, -2.5, 9)) is stops
    assert seen == [(4, -2.5, 9)]
    assert planned(1, None, None)[0].told((4, -2.5, 9)) is False


@pytest.mark.parametrize(
    ("episodes", "steps", "callback", "message"),
    [
        (
            None,
            None,
            None,
            "episodes is None, and so is steps; one of them should say when to stop",
        ),
        (0, None, None, "episodes is 0"),
        (None, 0, None, "steps is 0"),
        (1, None, 5, "callback is 5"),
        (10**12, None, None, "episodes is 1000000000000"),
        (None, 10**12, None, "steps is 1000000000000"),
    ],
)
def test_refusals_name_what_is_wrong(episodes, steps, callback, message):
    with pytest.raises((ValueError, MemoryError), match=message):
        planned(episodes, steps, callback)


def test_a_single_episode_and_a_single_step_are_enough():
    budget, _ = planned(1, 1, None)
    assert (budget.episodes, budget.steps) == (1, 1)
