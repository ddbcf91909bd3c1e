"""Replays the logs of allocators."""

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
    """An event of a log, or the buffer that the event allocates."""

    place: str
    """The position of the event, which is a line, an entry of a trace, or an operation."""
    time: int | None
    """The time in microseconds, measured from an arbitrary origin that the log chooses."""
    bytes: int
    stream: int
    frames: tuple[str, ...]
    """The callers as `file:line name`, innermost first."""
    address: int | None = None


@dataclass(frozen=True)
class Fault:
    """An impossible event."""

    fault: str
    """The kind of fault, which is `unknown-free`, `overlap`, `freed-bytes` or `overflow`."""
    place: str
    time: int | None
    message: str


@dataclass(frozen=True)
class Held:
    """The number of bytes that an allocator would have held."""

    allocator: str
    held: int | None
    """The maximum number of bytes held. If there is a failure, only the events before the failure are considered."""
    ratio: float | None
    """The ratio of held bytes to the live bytes at the peak."""
    padding: int | None
    """The bytes of live buffers at the peak that exceed the requested bytes. For a plan, this number is unknown."""
    fails_at: Event | None
    """The first event for which there was no room."""
    message: str | None
    """The reason why there is no plan."""
    curve: npt.NDArray[np.uint64]
    """The bytes held over time. For a plan, the array is empty."""


@dataclass(frozen=True)
class Pool:
    """The buffers of one pool of PyTorch's allocator."""

    pool: tuple[int, int]
    """The ID of the pool, which is `(0, 0)` for the default pool. All other pools are private pools."""
    buffers: int
    peak_live: int
    """The maximum number of bytes of the pool that were live at one time."""
    held: Mapping[str, int]
    """The maximum number of bytes that each allocator with private pools held for the pool."""


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
    """The maximum number of requested bytes that were live at one time."""
    late_at_peak: int
    """The bytes at the peak that their owners had released, but that other streams could still use."""
    peak_at: str | None
    held_by_log: int | None
    """The peak of the log's own allocator, if the log reports all of the memory that it held."""
    bound: int | None
    """The lower bound for every allocator in bytes, if a plan was computed."""
    allocators: Mapping[str, Held]
    pools: tuple[Pool, ...]
    """The pools of PyTorch's allocator. The tuple is empty if there is no private pool."""
    largest_at_peak: tuple[Event, ...]
    live_at_end: int
    """The number of buffers that were never freed."""
    live_bytes_at_end: int
    largest_at_end: tuple[Event, ...]
    failures: tuple[Event, ...]
    """The first failed allocations. `failure_count` is the number of all failed allocations."""
    failure_count: int
    faults: tuple[Fault, ...]
    """The first impossible events. `fault_count` is the number of all impossible events."""
    fault_count: int
    live: npt.NDArray[np.uint64]
    """The live bytes over time. Each point is the maximum over a range of events."""

    @property
    def planned_peak(self) -> int | None:
        """The peak of the plan, if there is one."""
        held = self.allocators.get("planned")
        return None if held is None else held.held


@dataclass(frozen=True)
class Report:
    """The report on a log."""

    log: str
    format: str
    events: int
    operations: int | None
    """The number of operations of the graph, if the log is a graph."""
    capacity: int | None
    outcome: Outcome
    """The outcome, which corresponds to the exit codes 0, 1, 2 and 3 of the command."""
    devices: tuple[Device, ...]
    json: str
    """The whole report, as printed by `pool-plan replay --json`."""

    @property
    def is_consistent(self) -> bool:
        """`True` if the log contains no impossible event."""
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
    """Replays a log in any format that `Format` lists, such as RMM's CSV or a PyTorch snapshot.

    Raises `LogError` if the file does not match its format, and `OSError` if the file cannot be read. A log that
    contains impossible events is not an error, because the report lists these events as faults. A function that a
    pickle names is never called.
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
        pools=tuple(
            Pool((each["pool"][0], each["pool"][1]), each["buffers"], each["peak_live"], dict(each["held"]))
            for each in one.get("pools", [])
        ),
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
