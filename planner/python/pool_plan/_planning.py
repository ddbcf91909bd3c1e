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
    """The quality of a plan."""

    peak: int
    """The end of the highest byte, which is the required size of the arena."""
    bound: int
    """A lower bound on the peak of every plan, because the buffers of the witness need this number of bytes."""
    searched_bound: int
    """A number of bytes below which no plan exists, which an exhaustive search proved. It is at least `bound`."""
    witness: npt.NDArray[np.uintp]
    """The indices of the buffers that prove the bound."""

    @property
    def ratio(self) -> float:
        """The peak divided by `searched_bound`, the best known bound. A ratio of 1 is provably optimal."""
        return 1.0 if self.is_optimal else self.peak / self.searched_bound

    @property
    def is_optimal(self) -> bool:
        """`True` if the bound or an exhaustive search proves that no plan has a lower peak."""
        return self.peak == self.searched_bound


@dataclass(frozen=True)
class Plan:
    """The offsets of all buffers, in the order of the buffers."""

    offsets: npt.NDArray[np.uint64]
    certificate: Certificate
    stopped: str
    """The reason why the planner stopped, which is `optimal`, `good_enough`, `rounds`, `budget` or `cancelled`."""
    proof: str
    """`witness` or `search` if a witness or a search proves that the plan is optimal. `likely` or `unlikely` if not."""
    untried: tuple[str, ...]
    """The textbook heuristics that were not tried, because the budget ended or the plan was already good enough."""

    @property
    def peak(self) -> int:
        """The required size of the arena in bytes."""
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
    """Plans buffers with lifetimes.

    `buffers` consists of rows `(lower, upper, size[, alignment[, offset[, id]]])`, or of columns with these names.

    If `capacity` is given, the planner returns any plan within this number of bytes, or raises `InfeasibleError` or
    `NotFoundError`. `budget` is the time limit in seconds. If `rounds` limits the search, the plan does not depend on
    the speed of the machine. `last` contains the offset of each buffer in an earlier plan, or -1 for a new buffer. The
    plan is then no worse than the earlier plan, unless there are new buffers or a buffer has become larger.
    """
    wanted = wanted_of(capacity, budget, rounds, tolerance, seed, threads)
    columns = columns_of(buffers)
    found = _native.plan(columns, wanted, offsets_of(last))
    certificate = Certificate(
        peak=found["peak"],
        bound=found["bound"],
        searched_bound=found["searched_bound"],
        witness=np.frombuffer(found["witness"], np.uintp),
    )
    offsets = np.frombuffer(found["offsets"], np.uint64)
    return Plan(offsets, certificate, found["stopped"], found["proof"], tuple(found["untried"]))


def wanted_of(
    capacity: int | None,
    budget: float,
    rounds: int | None,
    tolerance: float,
    seed: int,
    threads: int,
) -> dict[str, Any]:
    """Returns the options in the form that the native module accepts."""
    return {
        "capacity": None if capacity is None else whole("capacity", capacity, 64),
        "budget": budget,
        "rounds": None if rounds is None else whole("rounds", rounds, 32),
        "tolerance": tolerance,
        "seed": whole("seed", seed, 64),
        "threads": whole("threads", threads, 32),
    }


def whole(name: str, value: int, bits: int) -> int:
    """Returns a nonnegative integer that has at most the given number of bits."""
    number = operator.index(value)
    if not 0 <= number < 1 << bits:
        raise OverflowError(f"{name} is {number}, which is not within 0 to {(1 << bits) - 1}")
    return number
