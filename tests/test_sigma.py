"""Ways to set σ."""

import numpy as np
import pytest
from scipy.stats import norm

from gqlib.learners.sigma import MEANS, Schedule, SigmaFields, dynamic, family, ramp

ENDS = np.array([False, False, True, False, True, False, False])
NORMALS = np.array([1.0, 2.0, 3.0, -1.0, 5.0, 0.5, 7.0])


def test_the_range_of_the_paper():
    np.testing.assert_allclose(MEANS, np.arange(0.02, 0.99, 0.02), rtol=1e-12)
    assert len(MEANS) == len(family()) == 49
    assert [member.mean for member in family()] == list(MEANS)
    assert all(member.noise == 0.01 and not member.clipped for member in family())


@pytest.mark.parametrize(
    ("drawn", "picked"),
    [("step", NORMALS), ("episode", [1, 1, 1, -1, -1, 0.5, 0.5]), ("run", [1.0] * 7)],
)
def test_when_sigma_is_drawn(drawn, picked):
    np.testing.assert_array_equal(
        dynamic(0.5, drawn=drawn).values(ENDS, NORMALS), 0.5 + 0.01 * np.array(picked)
    )


def test_fixed_ignores_the_draws():
    np.testing.assert_array_equal(Schedule(0.3).values(ENDS, NORMALS), [0.3] * 7)


def test_clipping_is_a_choice():
    draws = np.array([-3.0, 0.0, 5.0])
    free, cut = (dynamic(0.98, clipped=c).values([False] * 3, draws) for c in (False, True))
    assert free[2] == pytest.approx(1.03)
    assert cut[2] == 1.0
    np.testing.assert_array_equal(free[:2], cut[:2])
    assert dynamic(0.98).outside([False]) == pytest.approx(norm.sf(2.0), rel=1e-9)
    assert dynamic(0.02).outside([False] * 4) == pytest.approx(norm.cdf(-2.0), rel=1e-9)
    assert Schedule(1.2).outside([False]) == 1.0


def test_ramp_gives_each_mean_a_49th_of_the_run():
    means = ramp().means(np.zeros(98, dtype=bool))
    np.testing.assert_array_equal(means, np.repeat(MEANS, 2))
    down = Schedule(0.98, ramp_to=0.02).means(np.zeros(49, dtype=bool))
    np.testing.assert_array_equal(down, MEANS[::-1])
    np.testing.assert_array_equal(np.unique(ramp().means(np.zeros(1000, dtype=bool))), MEANS)


def test_decay_counts_episodes_or_else_steps():
    np.testing.assert_array_equal(
        Schedule(1.0, decay=0.5).means(ENDS), [1, 1, 1, 0.5, 0.5, 0.25, 0.25]
    )
    np.testing.assert_array_equal(Schedule(1.0, decay=0.5).means([False] * 3), [1, 0.5, 0.25])


def test_sample_uses_one_number_a_step():
    values = dynamic(0.5, drawn="run").sample(ENDS, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    np.testing.assert_array_equal(values, 0.5 + 0.01 * rng.standard_normal(7)[0])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"mean": float("nan")}, "mean is nan"),
        ({"mean": 0.5, "noise": -1.0}, "noise is -1"),
        ({"mean": 0.5, "drawn": "week"}, "drawn is 'week'"),
        ({"mean": 0.5, "clipped": 1}, "clipped is 1"),
        ({"mean": 0.5, "decay": 0.0}, "decay is 0"),
        ({"mean": 0.5, "ramp_to": "up"}, "ramp_to is 'up'"),
    ],
)
def test_refusals_name_the_argument(options, named):
    with pytest.raises(ValueError, match=named):
        Schedule(**options)


def test_one_number_a_step_is_needed():
    with pytest.raises(ValueError, match="normals has shape"):
        Schedule(0.5).values(ENDS, NORMALS[:3])


def test_the_readings_keep_what_was_asked_for():
    asked = {"drawn": "run", "clipped": True}
    for made in (dynamic(0.5, **asked), *family(**asked), ramp(**asked)):
        assert (made.drawn, made.clipped, made.noise) == ("run", True, 0.01)
    for made in (dynamic(0.5), *family(), ramp()):
        assert (made.drawn, made.clipped) == ("step", False)
    assert (ramp().mean, ramp().ramp_to) == (0.02, 0.98)


def test_the_ends_of_the_interval_are_inside():
    assert [Schedule(mean).outside([False]) for mean in (-0.1, 0.0, 0.5, 1.0, 1.1)] == [
        1.0,
        0.0,
        0.0,
        0.0,
        1.0,
    ]


def test_ends_are_flags_and_the_generator_is_one():
    np.testing.assert_array_equal(Schedule(1.0, decay=0.5).means([0, 1, 0]), [1.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=r"^ends is \[0, 2\]; it should hold True"):
        Schedule(0.5).means([0, 2])
    with pytest.raises(ValueError, match=r"^ends has shape \(1, 2\)"):
        Schedule(0.5).values([[True, False]], [[0.0, 0.0]])
    with pytest.raises(ValueError, match=r"^rng is 3"):
        Schedule(0.5).sample([False], 3)


def test_an_episode_may_end_one_step_before_the_last():
    drawn = Schedule(0.5, noise=1.0, drawn="episode").values([False, True, False], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(drawn, [1.5, 1.5, 3.5])


def test_clipping_works_at_both_ends():
    clipped = Schedule(0.5, noise=1.0, clipped=True).values([False] * 3, [-2.0, 0.25, 2.0])
    np.testing.assert_allclose(clipped, [0.0, 0.75, 1.0])


def test_sigma_does_not_grow_by_decay():
    assert Schedule(0.5, decay=1.0).means([True, True]).tolist() == [0.5, 0.5]
    for decay in (0.0, 1.5):
        with pytest.raises(ValueError, match=rf"^decay is {decay}; it should be in \(0, 1\]"):
            Schedule(0.5, decay=decay)


@pytest.mark.parametrize(
    ("draw", "free", "clipped"), [(6.0, 1.1, 1.0), (-6.0, -0.1, 0.0), (1.0, 0.6, 0.6)]
)
def test_one_draw_is_clipped_only_where_asked(draw, free, clipped):
    assert Schedule(0.5, noise=0.1).at(0.5, draw) == pytest.approx(free, abs=1e-15)
    assert Schedule(0.5, noise=0.1, clipped=True).at(0.5, draw) == pytest.approx(clipped, abs=1e-15)


def test_fields_become_plain_values_of_their_own_names():
    fields = SigmaFields(
        sigma=np.float32(0.25),
        sigma_noise=1,
        sigma_drawn="run",
        sigma_clipped=np.True_,
        sigma_decay=np.float64(0.5),
    )
    fields.check_sigma(low=0.25, high=0.25)
    assert vars(fields) == {
        "sigma": 0.25, "sigma_noise": 1.0, "sigma_drawn": "run", "sigma_clipped": True, "sigma_decay": 0.5,
    }  # fmt: skip
    assert [type(value) for value in vars(fields).values()] == [float, float, str, bool, float]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("sigma", -0.5, r"sigma is -0\.5; it should be in \[0, 1\]"),
        ("sigma", 1.5, r"sigma is 1\.5; it should be in \[0, 1\]"),
        ("sigma_noise", -1.0, r"sigma_noise is -1\.0"),
        ("sigma_drawn", "day", r"sigma_drawn is 'day'"),
        ("sigma_clipped", 1, r"sigma_clipped is 1"),
        ("sigma_decay", 0.0, r"sigma_decay is 0\.0"),
        ("sigma_decay", 1.5, r"sigma_decay is 1\.5"),
    ],
)
def test_a_field_is_refused_by_its_name(field, value, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        SigmaFields(**{field: value}).check_sigma(low=0.0, high=1.0)
