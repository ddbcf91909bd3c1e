"""Makes large logs, replays them, and prints time and memory.

    python3 large.py POOL_PLAN FOLDER [SCALE]

The script writes an RMM log of 1 GB and PyTorch snapshots of 0.5 and 2 GB to the folder, and replays each with one
simulation. SCALE multiplies the sizes. Each file is removed afterwards. For each file, the script prints a row of a table:
the bytes, the events, the seconds of processor time, and the maximum resident memory of the command.
"""

import functools
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

LIVE = 20_000
"""Buffers that are live at most."""


def requests(seed):
    """Allocations (True) and frees of places below `LIVE`, with sizes, for ever."""
    rng = random.Random(seed)
    sizes = [0] * LIVE
    while True:
        for place in rng.choices(range(LIVE), k=10_000):
            is_new = sizes[place] == 0
            if is_new:
                sizes[place] = 512 * (1 + rng.getrandbits(10))
            yield is_new, place, sizes[place]
            if not is_new:
                sizes[place] = 0


def write_log(path, size):
    """An RMM log; returns its number of events."""
    count = 0
    with path.open("w", buffering=1 << 20) as file:
        file.write("Thread,Time,Action,Pointer,Size,Stream\n")
        for is_new, place, size_of in requests(1):
            action = "allocate" if is_new else "free"
            second, micros = divmod(count, 1_000_000)
            file.write(
                f"139,{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{micros:06},"
                f"{action},0x{0x7F0000000000 + place * (1 << 20):x},{size_of},0x0\n"
            )
            count += 1
            if count % 100_000 == 0 and file.tell() >= size:
                return count


def text(value):
    """A short text as an opcode."""
    data = value.encode()
    return b"\x8c" + bytes([len(data)]) + data


def write_snapshot(path, size, stacks_count=64, devices=1, at_once=False):
    """Writes a snapshot and returns its number of entries.

    Each dictionary and each new text is in the memo, as in the pickles of Python, and stacks are shared. Python appends
    batches of 1,000 entries. With `at_once`, a single opcode appends all entries of a trace, as in the pickles that
    PyTorch writes without Python.
    """
    memo = 0
    with path.open("wb", buffering=1 << 20) as file:

        def put(data, memoized=0):
            nonlocal memo
            file.write(data)
            memo += memoized

        put(b"\x80\x04}\x94(" + text("segments") + b"\x94]\x94" + text("device_traces") + b"\x94]\x94(", 5)
        keys = {}
        for name in ["action", "addr", "size", "stream", "time_us", "frames", "alloc", "free_completed"]:
            put(text(name) + b"\x94" + b"0", 1)
            keys[name] = b"j" + struct.pack("<I", memo - 1)
        stacks = []
        for line in range(stacks_count):
            frame = b"}\x94(" + text("filename") + b"\x94" + text("net.py") + b"\x94" + text("line") + b"\x94J"
            frame += struct.pack("<i", line)
            frame += text("name") + b"\x94" + text(f"layer{line}") + b"\x94u"
            put(b"]\x94" + frame + b"a0", 7)
            stacks.append(b"j" + struct.pack("<I", memo - 7))
        count = 0
        for device in range(devices):
            put(b"]\x94(", 1)
            for is_new, place, size_of in requests(2 + device):
                action = keys["alloc" if is_new else "free_completed"]
                put(
                    b"}\x94(" + keys["action"] + action + keys["addr"] + b"\x8a\x08"
                    + struct.pack("<q", 0x7F0000000000 + place * (1 << 20)) + keys["size"] + b"J" + struct.pack("<i", size_of)
                    + keys["stream"] + b"K\x00" + keys["time_us"] + b"\x8a\x08"
                    + struct.pack("<q", 1_700_000_000_000_000 + count) + keys["frames"] + stacks[count % stacks_count] + b"u",
                    1,
                )
                count += 1
                if count % 100_000 == 0 and file.tell() >= size * (device + 1) / devices:
                    break
                if count % 1000 == 0 and not at_once:
                    put(b"e(")
            put(b"e")
        put(b"eu.")
    return count


def measure(command, path, count, what):
    """Replays a file and prints its row."""
    process = subprocess.Popen([command, "replay", str(path), "--allocator", "pool"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{path}: exit code {process.returncode}"
    seconds = usage.ru_utime + usage.ru_stime
    size, memory = os.path.getsize(path) / 1e9, usage.ru_maxrss * 1024 / 1e6
    print(f"| {what} | {size:.2f} GB | {count:,} | {seconds:.0f} s | {memory:.0f} MB |", flush=True)


def main():
    """Makes and measures all files."""
    command, folder = sys.argv[1], Path(sys.argv[2])
    scale = float(sys.argv[3]) if len(sys.argv) > 3 else 1
    print("| file | size | events | processor time | resident memory |\n|---|---|---|---|---|")
    partial = functools.partial
    for what, name, write, gigabytes in [
        ("RMM log", "large.csv", write_log, 1),
        ("snapshot", "large.pickle", write_snapshot, 0.5),
        ("snapshot", "large.pickle", write_snapshot, 2),
        ("snapshot, entries appended at once", "large.pickle", partial(write_snapshot, at_once=True), 0.5),
        ("snapshot of four devices", "large.pickle", partial(write_snapshot, devices=4), 0.5),
        ("snapshot with 200,000 stacks", "large.pickle", partial(write_snapshot, stacks_count=200_000), 0.5),
    ]:
        path = folder / name
        try:
            count = write(path, gigabytes * scale * 1e9)
            measure(command, path, count, what)
        finally:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
