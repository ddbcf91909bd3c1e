#!/usr/bin/env python3
"""Bytes and host time of the programs of `owned_arrays.rs` with the allocators of PyTorch and CuPy.

    owned_arrays_peers.py owned_arrays_programs.json

reads the programs that the bench has written. For each allocator and program, it prints a line
`allocator, program, live peak, bytes held, bytes held per live byte, nanoseconds`: the peak of what the
allocator has reserved in the first repetition, and the median time to acquire and drop one array in the
next five repetitions, which includes the cost of Python. Each runs in a process of its own. For a package
that is not installed, the program prints `SKIPPED: package: why`; if there is none, it fails with code 3.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from peer_packages import cupy_memory_pool, torch_allocator, torch_with_a_device

# PyTorch's settings; `expandable_segments` maps memory instead of allocating it in fixed segments.
ALLOCATORS = {
    "torch": "",
    "torch expandable_segments": "expandable_segments:True",
    "cupy": "",
}
REPETITIONS = 5


def torch_functions():
    """Functions that allocate, that return the bytes held at most, and that wait."""
    torch = torch_with_a_device()
    allocate = torch_allocator(torch)
    allocate(1)
    torch.cuda.empty_cache()
    return allocate, torch.cuda.max_memory_reserved, torch.cuda.synchronize


def cupy_functions():
    pool = cupy_memory_pool()
    import cupy

    cupy.cuda.runtime.getDeviceCount()
    # The pool does not free memory before the device is full, so its total is its peak.
    return pool.malloc, pool.total_bytes, cupy.cuda.get_current_stream().synchronize


FUNCTIONS = {"torch": torch_functions, "cupy": cupy_functions}


def run(allocate, wait, steps):
    arrays = []
    for step in steps:
        if step == "wait":
            wait()
        elif "take" in step:
            arrays.append(allocate(step["take"]))
        else:
            arrays[step["drop"]] = None


def live_peak(steps):
    sizes, live, peak = [], 0, 0
    for step in steps:
        if step == "wait":
            continue
        if "take" in step:
            sizes.append(step["take"])
            live += step["take"]
        else:
            live -= sizes[step["drop"]]
        peak = max(peak, live)
    return peak


def measure(allocator, path, number):
    """One program, in this process."""
    allocate, held, wait = FUNCTIONS[package_of(allocator)]()
    with open(path, encoding="utf-8") as file:
        program = json.load(file)[number]
    steps = program["steps"]
    run(allocate, wait, steps)
    reserved, live = held(), live_peak(steps)
    arrays = sum("take" in step for step in steps)
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter_ns()
        run(allocate, wait, steps)
        times.append((time.perf_counter_ns() - start) / arrays)
    ratio, median = reserved / live, statistics.median(times)
    print(f"{allocator}, {program['name']}, {live}, {reserved}, {ratio:.3f}, {median:.0f}")


def package_of(allocator):
    return allocator.split()[0]


def is_available(package):
    try:
        FUNCTIONS[package]()
    except Exception as why:  # whatever is missing: the package, the driver, the device
        print(f"SKIPPED: {package}: {why}", flush=True)
        return False
    return True


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--in-this-process":
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        programs = len(json.load(file))
    found = {package for package in FUNCTIONS if is_available(package)}
    failed = 0
    for allocator, setting in ALLOCATORS.items():
        if package_of(allocator) not in found:
            continue
        environment = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=setting)
        for number in range(programs):
            command = [sys.executable, __file__, "--in-this-process", allocator, sys.argv[1], str(number)]
            failed += subprocess.run(command, env=environment, check=False).returncode != 0
    return 1 if failed else 0 if found else 3


if __name__ == "__main__":
    sys.exit(main())
