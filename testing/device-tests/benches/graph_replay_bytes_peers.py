#!/usr/bin/env python3
"""Bytes and replay time of the captures of `graph_replay_bytes` with PyTorch's graph pool.

    graph_replay_bytes_peers.py graph_replay_programs.json [REPLAYS]

reads the programs that the bench has written, captures each on the same streams with the same waits,
and replays it. Once with the allocator's defaults, and once with `graph_capture_record_stream_reuse`,
each in a process of its own, because the allocator is configured once. Prints for each capture a line
`mode, capture, streams, bytes, microseconds`: what the graph's pool has reserved, and the median time of
one replay, waited for. Where PyTorch is not to be had, `SKIPPED: why`, and exit code 3.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import time

from peer_packages import torch_with_a_device

MODES = {
    "default": "",
    "graph_capture_record_stream_reuse": "graph_capture_record_stream_reuse:True",
}
REPLAYS = 31
WARM_UP = 3


class Capture:
    """A program under way: its temporaries, and which streams take part."""

    def __init__(self, torch, streams, sinks):
        self.torch, self.streams, self.sinks = torch, streams, sinks
        self.begun = {0}
        self.temporaries, self.homes = [], []

    def stream(self, number):
        """The stream, which takes part from here on."""
        if number not in self.begun:
            self.begun.add(number)
            self.streams[number].wait_stream(self.streams[0])
        return self.streams[number]

    def take(self, number, size):
        with self.torch.cuda.stream(self.stream(number)):
            temporary = self.torch.empty(size, dtype=self.torch.uint8, device="cuda")
            temporary.fill_(len(self.temporaries) % 251 + 1)
        self.temporaries.append(temporary)
        self.homes.append(number)

    def read(self, number, which):
        temporary = self.temporaries[which]
        stream = self.stream(number)
        with self.torch.cuda.stream(stream):
            self.sinks[number][: temporary.numel()].copy_(temporary)
        if number != self.homes[which]:
            temporary.record_stream(stream)

    def end(self, which):
        self.temporaries[which] = None

    def wait(self, later, earlier):
        earlier = self.stream(earlier)
        self.stream(later).wait_stream(earlier)

    def join(self):
        for number in sorted(self.begun - {0}):
            self.streams[0].wait_stream(self.streams[number])


def captured(torch, program):
    """The graph, what its pool has reserved, and what its work writes."""
    streams = [torch.cuda.Stream() for _ in range(program["streams"])]
    largest = max([step[1] for kind, step in program["steps"] if kind == "take"], default=1)
    sinks = [torch.empty(largest, dtype=torch.uint8, device="cuda") for _ in streams]
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=streams[0]):
        capture = Capture(torch, streams, sinks)
        for kind, step in program["steps"]:
            getattr(capture, kind)(*step)
        capture.temporaries.clear()
        capture.join()
    return graph, torch.cuda.memory_reserved() - before, sinks


def microseconds(torch, graph, replays):
    """The median time of one replay."""
    times = []
    for number in range(WARM_UP + replays):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        graph.replay()
        torch.cuda.synchronize()
        if number >= WARM_UP:
            times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


def measure(mode, path, replays):
    """All programs, in this process."""
    torch = torch_with_a_device()
    with open(path, encoding="utf-8") as file:
        programs = json.load(file)
    for program in programs:
        graph, reserved, sinks = captured(torch, program)
        median = microseconds(torch, graph, replays)
        capture, streams = program["capture"], program["streams"]
        print(f"{mode}, {capture}, {streams}, {reserved}, {median:.1f}", flush=True)
        del graph, sinks


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--in-this-process":
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return 0
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    path, replays = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else str(REPLAYS)
    try:
        torch = torch_with_a_device()
    except Exception as why:  # whatever is missing: the package, the driver, the device
        print(f"SKIPPED: torch: {why}")
        return 3
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    failed = 0
    for mode, setting in MODES.items():
        environment = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=setting)
        command = [sys.executable, __file__, "--in-this-process", mode, path, replays]
        ended = subprocess.run(command, env=environment, check=False)
        if ended.returncode != 0:
            # The setting is newer than 2.8, and refused before.
            print(f"SKIPPED: {mode}: the process ended with {ended.returncode}")
            failed += 1
    return 3 if failed == len(MODES) else 0


if __name__ == "__main__":
    sys.exit(main())
