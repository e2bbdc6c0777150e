"""What a setting of an experiment is: frozen, plain data with a key.

Subclass `Setting` by a frozen dataclass whose fields JSON can hold, and it works in a sweep:

    @dataclass(frozen=True)
    class Mine(Setting):
        alpha: float = 0.1
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cached_property

from gqlib.sweeps.store import canonical_json

__all__ = ["Setting"]


@dataclass(frozen=True)
class Setting:
    """The base of every setting: a frozen dataclass of plain values, and the key that names it on every machine.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Mine(Setting):
    ...     alpha: float = 0.1
    >>> len(Mine().key), Mine(0.1).key == Mine().key, Mine(0.2).key == Mine().key
    (64, True, False)
    """

    @cached_property
    def key(self) -> str:
        """SHA-256 of the fields as canonical JSON: the same in every process and on every machine."""
        return hashlib.sha256(canonical_json(asdict(self)).encode()).hexdigest()

    @property
    def imported(self) -> tuple[str, ...]:
        """Names of code outside of gqlib that this setting would make its runner import: none, as a rule.

        A setting that comes from a file is run only if the caller allows each of these by name.
        """
        return ()
