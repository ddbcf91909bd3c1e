"""Replays: what is said of logs, and files that mean harm."""

import io
import json
import os
import pathlib
import pickle
import pickletools

import numpy as np
import pool_plan
import pytest

#: The logs of the repository, which are found even if the tests were copied elsewhere.
DATA = pathlib.Path(
    os.environ.get("POOL_PLAN_DATA", pathlib.Path(__file__).parent / "../../data")
)


def snapshot(*entries):
    return {"segments": [], "device_traces": [list(entries)]}


def alloc(address, size, **more):
    return {"action": "alloc", "addr": address, "size": size, "stream": 0, "frames": [], **more}


def test_a_snapshot_of_two_training_steps():
    report = pool_plan.replay(DATA / "training.pickle")
    assert (report.format, report.events, report.outcome) == ("pytorch", 378, "fits")
    assert report.is_consistent and report.operations is None
    (device,) = report.devices
    assert (device.buffers, device.streams, device.freed_late) == (137, 1, 12)
    assert (device.peak_live, device.bound, device.planned_peak) == (393265152,) * 3
    assert device.held_by_log == device.allocators["caching"].held == 434110464
    assert device.allocators["pool"].held == 452984832
    assert list(device.allocators) == list(pool_plan.ALLOCATORS)
    assert device.live.dtype == np.uint64 and device.live.max() == device.peak_live
    assert device.allocators["bump"].curve.max() == device.allocators["bump"].held
    assert device.largest_at_peak[0].frames
    assert json.loads(report.json)["events"] == 378


def test_private_pools(tmp_path):
    path = tmp_path / "pools.pickle"
    segments = [
        {"address": 0, "total_size": 2 << 20, "stream": 0, "segment_pool_id": (0, 0), "blocks": []},
        {"address": 4 << 20, "total_size": 2 << 20, "stream": 0, "segment_pool_id": (3, 1), "blocks": []},
    ]
    trace = [alloc(512, 1000), alloc(4 << 20, 2000)]
    path.write_bytes(pickle.dumps({"segments": segments, "device_traces": [trace]}))
    (device,) = pool_plan.replay(path).devices
    held = {"caching": 2 << 20, "expandable": 2 << 20}
    assert device.pools == (
        pool_plan.Pool((0, 0), 1, 1000, held),
        pool_plan.Pool((3, 1), 1, 2000, held),
    )
    assert pool_plan.replay(DATA / "training.pickle").devices[0].pools == ()


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("rmm.csv", "rmm"),
        ("torch_cpu.pickle", "pytorch"),
        ("training.csv", "minimalloc"),
        ("capture.json", "problem"),
    ],
)
def test_every_format_is_found_out(name, format):
    found = pool_plan.replay(DATA / name, budget=0.2, allocators=["planned", "bump"])
    given = pool_plan.replay(str(DATA / name), format=format, budget=0.2, allocators=["bump"])
    assert found.format == given.format == format
    assert found.events == given.events > 0
    for device in found.devices:
        assert device.bound <= device.planned_peak
        assert list(device.allocators) == ["bump", "planned"]
    assert all(device.bound is None for device in given.devices)


def test_a_plan_of_the_own_log_agrees_with_plan(tmp_path):
    rows = [(1, 6, 100), (2, 4, 50), (4, 5, 60)]
    events = []
    for index, (lower, upper, size) in enumerate(rows):
        events.append((lower, 1, {"action": "alloc", "address": 4096 * index, "bytes": size}))
        events.append((upper, 0, {"action": "free", "address": 4096 * index}))
    lines = "\n".join(json.dumps(event) for _, _, event in sorted(events, key=lambda one: one[:2]))
    path = tmp_path / "own.jsonl"
    path.write_text(lines)
    device = pool_plan.replay(path).devices[0]
    assert device.planned_peak == pool_plan.plan(rows).peak == 160


def test_a_capacity_names_the_first_event_without_room(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"action":"alloc","address":0,"bytes":512}\n' * 1 + '{"action":"alloc","address":512,"bytes":512}\n')
    report = pool_plan.replay(path, capacity=1000, allocators=["bump", "planned"])
    assert (report.outcome, report.capacity) == ("no-room", 1000)
    bump = report.devices[0].allocators["bump"]
    assert (bump.fails_at.place, bump.fails_at.bytes) == ("line 2", 512)
    assert "1000" in report.devices[0].allocators["planned"].message


def test_events_that_cannot_be_are_faults(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"action":"alloc","address":64,"bytes":8}\n{"action":"free","address":1}\n')
    report = pool_plan.replay(path)
    assert report.outcome == "inconsistent" and not report.is_consistent
    device = report.devices[0]
    assert [fault.fault for fault in device.faults] == ["unknown-free"]
    assert device.faults[0].place == "line 2" and "0x1" in device.faults[0].message
    assert (device.live_at_end, device.live_bytes_at_end) == (1, 8)


class Harmful:
    """Would make a file if it were ever built."""

    def __reduce__(self):
        return os.system, ("touch harmed",)


def test_a_pickle_that_calls_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bad.pickle"
    for protocol in range(2, 6):
        path.write_bytes(pickle.dumps(snapshot(Harmful()), protocol=protocol))
        with pytest.raises(pool_plan.LogError, match="pickle code is never executed") as caught:
            pool_plan.replay(path)
        assert caught.value.byte > 0 and caught.value.line is None
        assert not (tmp_path / "harmed").exists()


def test_pickles_of_python_are_read(tmp_path):
    path = tmp_path / "snapshot.pickle"
    for protocol in range(2, 6):
        path.write_bytes(pickle.dumps(snapshot(alloc(0, 512), alloc(512, 2**40)), protocol=protocol))
        assert pool_plan.replay(path).devices[0].peak_live == 512 + 2**40


def test_every_prefix_of_a_snapshot_is_an_error(tmp_path):
    whole = pickle.dumps(snapshot(alloc(0, 512)), protocol=4)
    path = tmp_path / "cut.pickle"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(pool_plan.LogError):
            pool_plan.replay(path)
    assert pickletools.optimize(whole)


def test_mutations_of_a_snapshot_are_errors_or_reports(tmp_path):
    whole = bytearray((DATA / "torch_cpu.pickle").read_bytes())
    draw = np.random.default_rng(11)
    path = tmp_path / "mutated.pickle"
    refused = 0
    for _ in range(150):
        mutated = whole.copy()
        for at in draw.integers(0, len(mutated), 3):
            mutated[at] = draw.integers(0, 256)
        path.write_bytes(mutated)
        try:
            pool_plan.replay(path, allocators=["bump"])
        except (pool_plan.LogError, pool_plan.ProblemError):
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(
    ("text", "number", "says"),
    [
        ("", {}, "format of the log is unknown"),
        ("\0\0\0\0", {}, "format of the log is unknown"),
        ('{"action":"alloc","address":0,"bytes":1}\n{"action":"grow"}', {"line": 2}, "grow"),
        ('{"action":"alloc","address":0,"bytes":-1}', {"line": 1}, "-1"),
        ('{"action":"alloc","address":0,"bytes":1e30}', {"line": 1}, "1e"),
        ('{"action":"alloc","adress":0,"bytes":1}', {"line": 1}, "adress"),
        ("Thread,Time,Action,Pointer,Size,Stream\n1,1:1:1.1,allocate,0x10000000000000000,1,0", {"line": 2}, "64-bit"),
        ("id,lower,upper,size\na,5,2,8", {}, "inverted"),
        ("id,lower,upper,size\na,0,1,9223372036854775807\nb,0,1,1", {}, "exceed"),
        ('{"operations":2,"edges":[[0,1],[1,0]],"buffers":[]}', {}, "no buffers"),
    ],
)
def test_files_that_mean_nothing_are_errors_with_their_place(tmp_path, text, number, says):
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(pool_plan.LogError, match=says) as caught:
        pool_plan.replay(path)
    for name, value in number.items():
        assert getattr(caught.value, name) == value


def test_files_that_cannot_be_read_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        pool_plan.replay(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        pool_plan.replay(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"format": "torch"}, ValueError),
        ({"format": 7}, TypeError),
        ({"allocators": "bump"}, TypeError),
        ({"allocators": ["jemalloc"]}, ValueError),
        ({"allocators": [7]}, TypeError),
        ({"alignment": 3}, ValueError),
        ({"alignment": 0}, ValueError),
        ({"capacity": -1}, OverflowError),
        ({"budget": -1.0}, ValueError),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments, error):
    with pytest.raises(error):
        pool_plan.replay(DATA / "rmm.csv", **arguments)


@pytest.mark.parametrize("path", [None, 7, io.BytesIO(b""), "a\0b"])
def test_paths_that_are_none_are_refused(path):
    with pytest.raises((TypeError, ValueError)):
        pool_plan.replay(path)
    assert pool_plan.replay(DATA / "rmm.csv", allocators=[]).outcome in ("fits", "inconsistent")
