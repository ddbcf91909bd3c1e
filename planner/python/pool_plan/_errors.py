"""What goes wrong, as exceptions that have the numbers of their message as attributes."""

from __future__ import annotations

from collections.abc import Sequence


class PoolPlanError(Exception):
    """Whatever this module raises by itself."""


class ProblemError(PoolPlanError, ValueError):
    """The buffers are no problem that can be planned: the message names the buffer and its numbers."""


class TooManyError(ProblemError):
    """There is more than the planner takes, which bounds its memory."""

    def __init__(self, message: str, *, what: str, count: int, limit: int) -> None:
        super().__init__(message)
        self.what = what
        self.count = count
        self.limit = limit


class InfeasibleError(PoolPlanError):
    """No plan fits the capacity.

    `witness` has the indices of the buffers that need `bound` bytes at once. It is empty where an exhaustive search
    has shown it; then `best` is the peak of the best plan.
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
    """No plan within the capacity was found in the budget; there may be one."""

    def __init__(self, message: str, *, capacity: int, bound: int, best: int) -> None:
        super().__init__(message)
        self.capacity = capacity
        self.bound = bound
        self.best = best


class LogError(PoolPlanError, ValueError):
    """A log is not of its format: at a line of a text, a byte of a pickle, or a place in a snapshot."""

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
    """A bug in the planner, which the validator or a check of its own has found."""
