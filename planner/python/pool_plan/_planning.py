"""Offsets for buffers with lifetimes."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._columns import columns_of, offsets_of


@dataclass(frozen=True)
class Certificate:
    """How good a plan is."""

    peak: int
    """The end of the highest byte: how large the arena must be."""
    bound: int
    """What no plan can be below, because the buffers of the witness need it at once."""
    searched_bound: int
    """What no plan is below because an exhaustive search found none; at least `bound`."""
    witness: npt.NDArray[np.uintp]
    """Indices of the buffers that witness the bound."""

    @property
    def ratio(self) -> float:
        """Peak over `searched_bound`, the best bound that is known; 1 is provably optimal."""
        return 1.0 if self.is_optimal else self.peak / self.searched_bound

    @property
    def is_optimal(self) -> bool:
        """Whether no plan has a lower peak, by the bound or by exhaustive search."""
        return self.peak == self.searched_bound


@dataclass(frozen=True)
class Plan:
    """Offsets for all buffers, in their order."""

    offsets: npt.NDArray[np.uint64]
    certificate: Certificate
    stopped: str
    """The reason why the planner returned: `optimal`, `good_enough`, `rounds`, `budget` or `cancelled`."""
    proof: str
    """`witness` or `search` if the plan is proved optimal by one, else `likely` or `unlikely`: the prospect of a proof."""
    untried: tuple[str, ...]
    """Textbook heuristics that were not tried, since the budget ended first or the plan was good enough."""

    @property
    def peak(self) -> int:
        """The bytes that the arena must have."""
        return self.certificate.peak


def plan(
    buffers: Any,
    *,
    capacity: int | None = None,
    budget: float = 10.0,
    rounds: int | None = None,
    tolerance: float = 1.0,
    seed: int = 0,
    threads: int = 2,
    last: Any = None,
) -> Plan:
    """Plans buffers with lifetimes: rows `(lower, upper, size[, alignment[, offset[, id]]])`, or columns by these names.

    With `capacity`, any plan within so many bytes is found, or `InfeasibleError` or `NotFoundError` raised. `budget`
    is in seconds; `rounds` of search make a plan independent of the machine's speed. `last` has an offset for each buffer
    from an earlier plan, -1 for a new one; the first plan is then no worse than that one if no buffer is new or grew.
    """
    wanted = wanted_of(capacity, budget, rounds, tolerance, seed, threads)
    columns = columns_of(buffers)
    found = _native.plan(columns, wanted, offsets_of(last))
    fields = (found[name] for name in ("peak", "bound", "searched_bound", "witness"))
    certificate = Certificate(*fields)
    untried = tuple(found["untried"])
    return Plan(found["offsets"], certificate, found["stopped"], found["proof"], untried)


def wanted_of(
    capacity: int | None,
    budget: float,
    rounds: int | None,
    tolerance: float,
    seed: int,
    threads: int,
) -> dict[str, Any]:
    """The options as the native module takes them."""
    return {
        "capacity": None if capacity is None else whole("capacity", capacity, 64),
        "budget": budget,
        "rounds": None if rounds is None else whole("rounds", rounds, 32),
        "tolerance": tolerance,
        "seed": whole("seed", seed, 64),
        "threads": whole("threads", threads, 32),
    }


def whole(name: str, value: int, bits: int) -> int:
    """A whole number from 0 that has so many bits."""
    number = operator.index(value)
    if not 0 <= number < 1 << bits:
        raise OverflowError(f"{name} is {number}, which is not within 0 to {(1 << bits) - 1}")
    return number
