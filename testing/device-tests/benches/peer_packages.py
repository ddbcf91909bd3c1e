"""Allocators of the Python packages that the scripts in this directory compare. Every function fails if its
package or a device is missing."""


def torch_with_a_device():
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("torch.cuda is not available")
    return torch


def torch_allocator(torch):
    device = torch.device("cuda:0")
    return lambda size: torch.empty(size, dtype=torch.uint8, device=device)


def cupy_memory_pool():
    import cupy

    return cupy.cuda.MemoryPool()
