"""Exceptions whose attributes contain the numbers in the message."""

from __future__ import annotations

from collections.abc import Sequence


class PoolPlanError(Exception):
    """The base class of all exceptions that this module defines."""


class ProblemError(PoolPlanError, ValueError):
    """The buffers are not a valid problem. The message names the buffer and its numbers."""


class TooManyError(ProblemError):
    """The problem is larger than the planner accepts. The limit bounds the planner's own memory use."""

    def __init__(self, message: str, *, what: str, count: int, limit: int) -> None:
        super().__init__(message)
        self.what = what
        self.count = count
        self.limit = limit


class InfeasibleError(PoolPlanError):
    """No plan fits within the capacity.

    `witness` contains the indices of the buffers that need `bound` bytes at one time. If an exhaustive search proved
    that no plan fits, `witness` is empty, and `best` is the peak of the best plan.
    """

    def __init__(
        self,
        message: str,
        *,
        capacity: int,
        bound: int,
        witness: Sequence[int] = (),
        best: int | None = None,
    ) -> None:
        super().__init__(message)
        self.capacity = capacity
        self.bound = bound
        self.witness = tuple(witness)
        self.best = best


class NotFoundError(PoolPlanError):
    """The planner found no plan within the capacity before the budget ended. Such a plan may exist."""

    def __init__(self, message: str, *, capacity: int, bound: int, best: int) -> None:
        super().__init__(message)
        self.capacity = capacity
        self.bound = bound
        self.best = best


class LogError(PoolPlanError, ValueError):
    """A log does not match its format at a line of a text, a byte of a pickle, or a position in a snapshot."""

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        byte: int | None = None,
        place: str | None = None,
    ) -> None:
        super().__init__(message)
        self.line = line
        self.byte = byte
        self.place = place


class InternalError(PoolPlanError):
    """A bug in the planner, which the validator or one of the planner's own checks has detected."""
