#!/usr/bin/env python3
"""Host time of the sequences of `gpu_pool.rs` with the pools of PyTorch, CuPy and RMM.

Each sequence allocates 1, 3 or 16 blocks and lets them go again; nothing is launched. Prints, for each
package that is installed, a line `package, blocks, KiB, nanoseconds` with the median of 30 batches; for
one that is not, `SKIPPED: package: why`.
"""

import importlib
import statistics
import sys
import time

from peer_packages import cupy_memory_pool, torch_allocator, torch_with_a_device

ACQUIRES = [1, 3, 16]
SIZES = [4 << 10, 256 << 10, 4 << 20, 64 << 20]
BATCHES = 30
REPETITIONS = 200


def rmm_allocator():
    rmm = importlib.import_module("rmm")
    pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=2 << 30)
    return lambda size: rmm.DeviceBuffer(size=size, mr=pool)


def nanoseconds(allocate, acquires, size):
    """The median time of one sequence."""
    kept = [None] * acquires

    def once():
        for index in range(acquires):
            kept[index] = allocate(size)
        for index in range(acquires):
            kept[index] = None

    for _ in range(REPETITIONS):
        once()
    times = []
    for _ in range(BATCHES):
        start = time.perf_counter_ns()
        for _ in range(REPETITIONS):
            once()
        times.append((time.perf_counter_ns() - start) / REPETITIONS)
    return statistics.median(times)


def main():
    measured = 0
    packages = {
        "torch": lambda: torch_allocator(torch_with_a_device()),
        "cupy": lambda: cupy_memory_pool().malloc,
        "rmm": rmm_allocator,
    }
    for package, make in packages.items():
        try:
            allocate = make()
        except Exception as why:  # whatever is missing: the package, the driver, the device
            print(f"SKIPPED: {package}: {why}")
            continue
        for size in SIZES:
            for acquires in ACQUIRES:
                time_of_one = nanoseconds(allocate, acquires, size)
                print(f"{package}, {acquires}, {size >> 10}, {time_of_one:.0f}")
                measured += 1
    return 0 if measured else 3


if __name__ == "__main__":
    sys.exit(main())
