"""Makes large logs, replays them, and prints time and memory.

    python3 large.py POOL_PLAN FOLDER [GIGABYTES]

writes an RMM log and a PyTorch snapshot of so many gigabytes each (1 and 2 if no number is given) to the folder, and replays
each with one simulation. The files are removed afterwards. It prints a row of a table for each: bytes, events, seconds of
processor time, and the most memory that the command had.
"""

import os
import random
import resource
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


def write_snapshot(path, size):
    """A snapshot as PyTorch writes one, with a trace of one device; returns its number of entries.

    Each dictionary and each new text is in the memo, as Python's pickler has it, and stacks are shared.
    """
    memo = 0
    with path.open("wb", buffering=1 << 20) as file:

        def put(data, memoized=0):
            nonlocal memo
            file.write(data)
            memo += memoized

        put(b"\x80\x04}\x94(" + text("segments") + b"\x94]\x94" + text("device_traces") + b"\x94]\x94(]\x94(", 6)
        keys = {}
        for name in ["action", "addr", "size", "stream", "time_us", "frames", "alloc", "free_completed"]:
            put(text(name) + b"\x94" + b"0", 1)
            keys[name] = b"j" + struct.pack("<I", memo - 1)
        stacks = []
        for line in range(64):
            frame = b"}\x94(" + text("filename") + b"\x94" + text("net.py") + b"\x94" + text("line") + b"\x94K" + bytes([line])
            frame += text("name") + b"\x94" + text(f"layer{line}") + b"\x94u"
            put(b"]\x94" + frame + b"a0", 7)
            stacks.append(b"j" + struct.pack("<I", memo - 7))
        count = 0
        for is_new, place, size_of in requests(2):
            action = keys["alloc" if is_new else "free_completed"]
            put(
                b"}\x94(" + keys["action"] + action + keys["addr"] + b"\x8a\x08"
                + struct.pack("<q", 0x7F0000000000 + place * (1 << 20)) + keys["size"] + b"J" + struct.pack("<i", size_of)
                + keys["stream"] + b"K\x00" + keys["time_us"] + b"\x8a\x08" + struct.pack("<q", 1_700_000_000_000_000 + count)
                + keys["frames"] + stacks[place % 64] + b"u",
                1,
            )
            count += 1
            if count % 100_000 == 0 and file.tell() >= size:
                break
        put(b"eeu.")
    return count


def measure(command, path, count):
    """Replays a file and prints its row."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([command, "replay", str(path), "--allocator", "pool"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"| {path.name} | {os.path.getsize(path) / 1e9:.2f} GB | {count:,} | {seconds:.0f} s | {after.ru_maxrss / 1e3:.0f} MB |",
        flush=True,
    )


def main():
    """Makes and measures both."""
    command, folder = sys.argv[1], Path(sys.argv[2])
    given = float(sys.argv[3]) if len(sys.argv) > 3 else None
    # The log with the smaller peak comes first, because the peak of child processes is a maximum over all of them.
    for name, write, gigabytes in [("large.csv", write_log, 1), ("large.pickle", write_snapshot, 2)]:
        path = folder / name
        count = write(path, (given or gigabytes) * 1e9)
        try:
            measure(command, path, count)
        finally:
            path.unlink()


if __name__ == "__main__":
    main()
