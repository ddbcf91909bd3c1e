#!/usr/bin/env python3
"""The memory of a ladder of four graphs and an eager phase with PyTorch's graph pools.

The body is that of `tests/simulated/captured_graphs/ladders.rs`. Lengths and width are multiplied by 8, so that each
temporary has 64 times its size there, and PyTorch's segments of 2 and 20 MiB do not dominate. Prints the bytes that the
allocator reserves: a private pool for each graph, and one pool that all graphs share, each with the eager phase in the
default pool. Without PyTorch or a device, prints `SKIPPED: why` and exits with 3.
"""

import gc
import sys

from peer_packages import torch_with_a_device

WIDTH = 64 * 8
LENGTHS = [256 * 8, 128 * 8, 64 * 8, 16 * 8]
LAYERS = 2


def body(torch, main, side, length):
    """The temporaries of a transformer block on two streams."""

    def acquire(stream, rows, columns):
        with torch.cuda.stream(stream):
            return torch.empty(rows * columns, dtype=torch.float32, device="cuda")

    def fill(stream, tensor):
        with torch.cuda.stream(stream):
            tensor.fill_(1.0)

    def copy(stream, to, source, home):
        if home is not stream:
            stream.wait_stream(home)
            source.record_stream(stream)
        with torch.cuda.stream(stream):
            to.copy_(source)

    hidden = acquire(main, length, WIDTH)
    fill(main, hidden)
    for _ in range(LAYERS):
        side.wait_stream(main)
        query, key = acquire(main, length, WIDTH), acquire(side, length, WIDTH)
        copy(main, query, hidden, main)
        copy(side, key, hidden, main)
        scores = acquire(main, length, length)
        fill(main, scores)
        probabilities = acquire(main, length, length)
        copy(main, probabilities, scores, main)
        del scores
        attended = acquire(main, length, WIDTH)
        copy(main, attended, key, side)
        del probabilities, query, key
        wide, gate = acquire(main, 4 * length, WIDTH), acquire(side, 4 * length, WIDTH)
        fill(main, wide)
        fill(side, gate)
        copy(main, wide, gate, side)
        del wide, gate
        following = acquire(main, length, WIDTH)
        copy(main, following, attended, main)
        hidden = following
    main.wait_stream(side)


def reserved(torch, shares):
    """The bytes that four graphs and an eager phase reserve."""
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    main, side = torch.cuda.Stream(), torch.cuda.Stream()
    pool = torch.cuda.graph_pool_handle() if shares else None
    graphs = []
    for length in LENGTHS:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=main):
            body(torch, main, side, length)
        graphs.append(graph)
    logits, ordered = (torch.zeros(50_000 * 64, dtype=torch.float32, device="cuda") for _ in range(2))
    ordered.copy_(logits)
    torch.cuda.synchronize()
    return torch.cuda.memory_reserved() - before


def main():
    try:
        torch = torch_with_a_device()
    except Exception as why:  # whatever is missing: the package, the driver, the device
        print(f"SKIPPED: torch: {why}")
        return 3
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    for name, shares in (("private pools", False), ("one shared pool", True)):
        print(f"{name}: {reserved(torch, shares)} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
