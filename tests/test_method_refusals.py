"""Methods refuse by the name of the argument, as functions do (`tests/test_ranges.py`)."""

import numpy as np
import pytest

from gqlib.control import ControlSetting, reference
from gqlib.control.features import TileCoder
from gqlib.control.tile_tables import make_memory, tile_table
from gqlib.domains import machine

CODER = TileCoder([0.0, 0.0], [1.0, 1.0], actions=2)
TABLE = tile_table(512, 8, "int")

REFUSED = {
    "position": (lambda: TABLE.cell(9.0, 0.0), r"position is 9\.0"),
    "velocity": (lambda: TABLE.cell(0.0, 9.0), r"velocity is 9\.0"),
    "action": (lambda: TABLE.indices(0.0, 0.0, 3), r"action is 3"),
    "state of a coder": (lambda: CODER([0.5]), r"state has shape \(1,\); it should have shape"),
    "state that is peeked at": (lambda: CODER.peek([0.5, 0.5, 0.5]), r"state has shape \(3,\); it should have shape"),
    "high of a coder": (lambda: TileCoder([0.0], [0.0], actions=2), r"high is \[0\.0\]"),
    "memory": (lambda: make_memory("hash", 512, 8), r"memory is 'hash'"),
    "p": (lambda: make_memory("int", 0, 8), r"p is 0"),
    "tilings": (lambda: make_memory("int", 512, 0), r"tilings is 0"),
    "steps of a walk": (lambda: machine().trajectory(10**12, np.random.default_rng(0)), r"steps is 1000000000000"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_method_names_what_it_refuses(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


@pytest.mark.parametrize(("third", "action"), [(0.0, 0), (0.5, 0), (1.0, 1), (1.5, 1), (2.0, 2), (2.5, 2), (3.0, 7)])
def test_a_number_below_epsilon_says_which_action_to_try(monkeypatch, third, action):
    setting = ControlSetting(epsilon=0.3)
    number = third * (setting.epsilon / 3.0) if third < 3.0 else setting.epsilon
    monkeypatch.setattr(reference, "uniform", lambda stream: number)
    assert reference.behave(setting, 7, np.zeros(4, dtype=np.uint64)) == action
