"""The log of an allocator, replayed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._planning import wanted_of, whole

Format = Literal[
    "rmm", "rmm-debug", "pytorch", "cupy", "minimalloc", "tflite", "xla", "json", "problem"
]
Allocator = Literal["bump", "slots", "pool", "arena", "caching", "expandable", "planned"]
Outcome = Literal["fits", "no-room", "left-out", "inconsistent"]

ALLOCATORS: tuple[Allocator, ...] = (
    "bump",
    "slots",
    "pool",
    "arena",
    "caching",
    "expandable",
    "planned",
)


@dataclass(frozen=True)
class Event:
    """An event of a log, or the buffer that it allocates."""

    place: str
    """The line, the place in a trace, or the operation."""
    time: int | None
    """Microseconds, from a point in time that the log chooses."""
    bytes: int
    stream: int
    frames: tuple[str, ...]
    """Who called, innermost first, `file:line name`."""
    address: int | None = None


@dataclass(frozen=True)
class Fault:
    """An event that cannot be."""

    fault: str
    """A word for it: `unknown-free`, `overlap`, `freed-bytes`, `overflow`."""
    place: str
    time: int | None
    message: str


@dataclass(frozen=True)
class Held:
    """What an allocator would have held."""

    allocator: str
    held: int | None
    """The most bytes; up to the failure, if there is one."""
    ratio: float | None
    """Bytes held for each byte live at the peak."""
    padding: int | None
    """Bytes of live buffers at the peak beyond what was asked for; not known of a plan."""
    fails_at: Event | None
    """The first event for which there was no room."""
    message: str | None
    """Why there is no plan."""
    curve: npt.NDArray[np.uint64]
    """Bytes held over the events; empty for a plan."""


@dataclass(frozen=True)
class Device:
    """One device of a log."""

    device: int
    events: int
    buffers: int
    streams: int
    freed_on_another_stream: int
    freed_late: int
    peak_live: int
    """The most bytes that were live at once, as they were asked for."""
    late_at_peak: int
    """Bytes of the peak that were given up, and waited for other streams."""
    peak_at: str | None
    held_by_log: int | None
    """What the log's own allocator held at most, where the log has all of it."""
    bound: int | None
    """What no allocator can be below; known where a plan was made."""
    allocators: Mapping[str, Held]
    largest_at_peak: tuple[Event, ...]
    live_at_end: int
    """How many buffers were never freed."""
    live_bytes_at_end: int
    largest_at_end: tuple[Event, ...]
    failures: tuple[Event, ...]
    """The first allocations that failed; `failure_count` counts all."""
    failure_count: int
    faults: tuple[Fault, ...]
    """The first events that cannot be; `fault_count` counts all."""
    fault_count: int
    live: npt.NDArray[np.uint64]
    """Bytes live over the events, each point the most of its part."""

    @property
    def planned_peak(self) -> int | None:
        """The peak of the plan, if there is one."""
        held = self.allocators.get("planned")
        return None if held is None else held.held


@dataclass(frozen=True)
class Report:
    """What is said of a log."""

    log: str
    format: str
    events: int
    operations: int | None
    """How many operations a graph has, where the log is one."""
    capacity: int | None
    outcome: Outcome
    """As the exit codes of the command: 0, 1, 2, 3."""
    devices: tuple[Device, ...]
    json: str
    """All of it as `pool-plan replay --json` prints it."""

    @property
    def is_consistent(self) -> bool:
        """Whether there is no event that cannot be."""
        return self.outcome != "inconsistent"


def replay(
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    allocators: Sequence[Allocator] = ALLOCATORS,
    capacity: int | None = None,
    alignment: int = 1,
    budget: float = 2.0,
    rounds: int | None = None,
    seed: int = 0,
    threads: int = 2,
) -> Report:
    """Replays a log: RMM's CSV, a PyTorch snapshot, MiniMalloc's CSV, JSON lines, or a problem in JSON.

    Raises `LogError` for a file that is not of its format, and `OSError` for one that cannot be read. A log with events
    that cannot be is no error: its report has them as faults. Nothing that a pickle names is ever called.
    """
    if isinstance(allocators, str):
        raise TypeError(f"allocators must be a list of names, not {allocators!r}")
    wanted = wanted_of(capacity, budget, rounds, 1.0, seed, threads)
    name = os.fspath(path)
    if isinstance(name, str) and "\0" in name:
        raise ValueError(f"{name!r} is not a path: the string contains a null character")
    names: list[str] = [one for one in ALLOCATORS if one in allocators]
    names += [one for one in allocators if one not in ALLOCATORS]
    text, outcome = _native.replay(
        name, format, names, whole("alignment", alignment, 64), wanted
    )
    report = json.loads(text)
    return Report(
        log=report["log"],
        format=report["format"],
        events=report["events"],
        operations=report.get("operations"),
        capacity=report.get("capacity"),
        outcome=outcome,  # type: ignore[arg-type]
        devices=tuple(_device(one) for one in report["devices"]),
        json=text,
    )


def _device(one: dict[str, Any]) -> Device:
    curves = dict(one["curve"]["allocators"])
    held = {
        each["allocator"]: Held(
            allocator=each["allocator"],
            held=each.get("held"),
            ratio=each.get("ratio"),
            padding=each.get("padding"),
            fails_at=_event(each["fails_at"]) if "fails_at" in each else None,
            message=each.get("message"),
            curve=np.array(curves.get(each["allocator"], []), np.uint64),
        )
        for each in one["allocators"]
    }
    same = ["device", "events", "buffers", "streams", "freed_on_another_stream", "freed_late"]
    same += ["peak_live", "late_at_peak", "failure_count", "fault_count"]
    left = one["live_at_end"]
    return Device(
        **{name: one[name] for name in same},
        peak_at=one["peak_at"]["place"] if "peak_at" in one else None,
        held_by_log=one.get("held_by_log"),
        bound=one.get("bound"),
        allocators=held,
        largest_at_peak=tuple(_event(each) for each in one["largest_at_peak"]),
        live_at_end=left["buffers"],
        live_bytes_at_end=left["bytes"],
        largest_at_end=tuple(_event(each) for each in left["largest"]),
        failures=tuple(_event(each) for each in one["failures"]),
        faults=tuple(
            Fault(each["fault"], each["at"]["place"], each["at"].get("time"), each["message"])
            for each in one["faults"]
        ),
        live=np.array(one["curve"]["live"], np.uint64),
    )


def _event(one: dict[str, Any]) -> Event:
    place, time = one["at"]["place"], one["at"].get("time")
    return Event(place, time, one["bytes"], one["stream"], tuple(one["frames"]), one.get("address"))
