"""The settings of policy evaluation: defaults, ranges, names, and what they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gqlib.domains import baird_star, boyan_chain
from gqlib.evaluation.setting import PredictionSetting, make_domain
from gqlib.learners.texts import LEARNERS
from gqlib.sweeps.setting import plain

NOT_OURS = 3  # neither a domain nor a learner, and importable by name
OURS = LEARNERS["td"]


def no_domain() -> int:
    return NOT_OURS


def test_a_setting_has_these_defaults() -> None:
    setting = PredictionSetting("boyan_chain")
    assert (setting.options, setting.learner, setting.sigma_ramp_to, setting.lam) == (
        (),
        "gq",
        None,
        0.0,
    )
    assert (setting.alpha, setting.eta, setting.steps, setting.kept, setting.kappa) == (
        0.01,
        1.0,
        1000,
        50,
        1.0,
    )
    assert "kappa" not in plain(setting)
    assert plain(PredictionSetting("boyan_chain", kappa=0.5))["kappa"] == 0.5


def test_numbers_are_kept_as_those_of_python() -> None:
    names = ("lam", "alpha", "eta", "kappa", "sigma_ramp_to")
    numbers = {name: np.float32(0.5) for name in names}
    setting = PredictionSetting("boyan_chain", **numbers, steps=np.int64(40), kept=np.int8(4))
    assert all(
        type(getattr(setting, name)) is float and getattr(setting, name) == 0.5 for name in names
    )
    assert (type(setting.steps), type(setting.kept)) == (int, int)
    assert setting.checkpoints.tolist() == [0, 10, 20, 30, 40]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"domain": "maze"},
            r"^domain is 'maze'; .*, or 'module:function', or a Domain, as own_domain returns$",
        ),
        ({"domain": 3}, r"^domain is 3; it should be one of 'baird_star'"),
        (
            {"learner": "dqn"},
            r"^learner is 'dqn'; it should be one of 'gq', 'semi-gradient', 'tdc', 'gtd2', 'tdrc', ",
        ),
        ({"learner": 3}, r"^learner is 3; it should be "),
        ({"lam": -0.1}, r"^lam is -0\.1"),
        ({"lam": 1.1}, r"^lam is 1\.1"),
        ({"alpha": -0.1}, r"^alpha is -0\.1"),
        ({"eta": -0.1}, r"^eta is -0\.1"),
        ({"kappa": -0.1}, r"^kappa is -0\.1"),
        ({"kept": 0}, r"^kept is 0; it should be .*1"),
        ({"steps": 49}, r"^steps is 49; it should be at least 50$"),
        ({"steps": 0}, r"^steps is 0; it should be at least 50$"),
        ({"steps": 75}, r"^steps is 75; it should be a multiple of kept, 50$"),
        ({"sigma_ramp_to": np.nan}, r"^sigma_ramp_to is nan"),
        ({"sigma_noise": -1.0}, r"^sigma_noise is -1"),
        ({"options": 3}, r"^options is 3; it should hold pairs \(name, value\)$"),
        ({"options": ((1, 2, 3),)}, r"^options is .*; it should hold pairs \(name, value\)$"),
    ],
)
def test_a_setting_refuses_by_name_and_range(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        PredictionSetting(**({"domain": "boyan_chain"} | fields))


def test_the_ends_of_the_ranges_will_do() -> None:
    setting = PredictionSetting(
        "boyan_chain", lam=1.0, alpha=0.0, eta=0.0, kappa=0.0, steps=1, kept=1
    )
    assert (setting.lam, setting.steps, setting.kept) == (1.0, 1, 1)


def test_options_are_pairs_in_the_order_of_their_names_and_reach_the_domain() -> None:
    setting = PredictionSetting("baird_star", options=[["states", 5], ["gamma", 0.5]])
    assert setting.options == (("gamma", 0.5), ("states", 5))
    domain = setting.make_domain()
    assert (
        domain
        is PredictionSetting("baird_star", options=(("gamma", 0.5), ("states", 5))).make_domain()
    )
    assert domain.problem.gamma == 0.5
    np.testing.assert_array_equal(
        domain.problem.features, baird_star(states=5, gamma=0.5).problem.features
    )


def test_a_domain_that_is_made_already_is_taken_as_it_is_and_has_no_options() -> None:
    made = boyan_chain()
    assert PredictionSetting(made).make_domain() is made
    with pytest.raises(
        ValueError, match=r"^options is .*; a domain that is made already should have none$"
    ):
        PredictionSetting(made, options=(("reading", "expected"),))


def test_names_lead_to_learners() -> None:
    def learner(name: str, reading: str = "literal") -> Any:
        options = (("reading", reading),)
        return PredictionSetting("boyan_chain", options, learner=name).make_learner()

    names = ("gq", "semi-gradient", "tdc", "gtd2", "tdrc", "emphatic")
    for reading, texts in (
        ("expected", ("gq", "q_sigma", "tdc", "gtd2", "tdrc", "emphatic_td")),
        (
            "stacked",
            ("gq", "q_sigma", "tdc_pairs", "gtd2_pairs", "tdrc_pairs", "emphatic_td_pairs"),
        ),
    ):
        for name, text in zip(names, texts, strict=True):
            assert learner(name, reading) is LEARNERS[text]
    assert learner("lstd") is None
    assert learner("test_prediction_setting:OURS") is OURS
    assert PredictionSetting("boyan_chain", learner=OURS).make_learner() is OURS
    with pytest.raises(
        ValueError, match=r"^learner is 'gqlib\.learners:none', which cannot be imported: .*none"
    ):
        learner("gqlib.learners:none")
    with pytest.raises(ValueError, match=r"^learner is 3; it should be "):
        learner("test_prediction_setting:NOT_OURS")


def test_which_learners_aim_at_the_target_policy() -> None:
    aims = {
        name: PredictionSetting("boyan_chain", learner=name).aims_at_target
        for name in (
            "gq",
            "semi-gradient",
            "tdc",
            "gtd2",
            "tdrc",
            "emphatic",
            "lstd",
            "test_prediction_setting:OURS",
        )
    }
    assert [name for name, does in aims.items() if not does] == ["gq", "semi-gradient"]
    assert PredictionSetting("boyan_chain", learner=OURS).aims_at_target is True


def test_names_of_ones_own_are_imported_and_checked() -> None:
    setting = PredictionSetting("gqlib.domains:boyan_chain", learner="test_prediction_setting:OURS")
    assert setting.imported == ("gqlib.domains:boyan_chain", "test_prediction_setting:OURS")
    np.testing.assert_array_equal(
        setting.make_domain().problem.features, boyan_chain().problem.features
    )
    for name, told in (
        ("nowhere:maze", r"^domain is 'nowhere:maze', which cannot be imported: "),
        ("test_prediction_setting:NOT_OURS", r"^domain is 3; it should be "),
        ("test_prediction_setting:no_domain", r"^domain is 3; it should be "),
    ):
        with pytest.raises(ValueError, match=told):
            make_domain(name, ())


def test_what_is_stored_has_names() -> None:
    for setting, name in (
        (PredictionSetting(boyan_chain()), "domain"),
        (PredictionSetting("boyan_chain", learner=OURS), "learner"),
    ):
        with pytest.raises(
            ValueError,
            match=rf"^{name} is an object; in a setting that is stored it should be 'mod",
        ):
            _ = setting.key
    assert PredictionSetting("boyan_chain").imported == ()
    assert PredictionSetting("boyan_chain").key == PredictionSetting("boyan_chain", kappa=1.0).key
    assert PredictionSetting("boyan_chain").key != PredictionSetting("boyan_chain", kappa=2.0).key
