"""How long an agent plays in `gqlib.control.gym`: a number of episodes, of steps, or until a callback asks to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gqlib import _validate as check

_NO_LIMIT = 2**62  # of steps, or of episodes


@dataclass(frozen=True)
class Budget:
    """How long to play, and whom to tell."""

    episodes: int
    steps: int
    callback: Callable[[int, float, int], object] | None

    def over(self, finished: int, taken: int) -> bool:
        """Whether enough episodes are finished, or enough steps taken."""
        return finished >= self.episodes or taken >= self.steps

    def told(self, episode: tuple[int, float, int]) -> bool:
        """Whether the callback asks to stop."""
        return self.callback is not None and self.callback(*episode) is True


def planned(episodes: int | None, steps: int | None, callback: Any) -> tuple[Budget, int]:
    """The budget, and how many episodes or steps it has, whichever are fewer."""
    if episodes is None and steps is None:
        raise ValueError("episodes is None, and so is steps; one of them should say when to stop")
    if callback is not None:
        check.function("callback", callback)
    count = _NO_LIMIT if episodes is None else check.integer("episodes", episodes, low=1)
    most = _NO_LIMIT if steps is None else check.integer("steps", steps, low=1)
    check.room("episodes", episodes, 0 if episodes is None else count)
    check.room("steps", steps, 0 if steps is None else most)
    return Budget(count, most, callback), min(count, most)
