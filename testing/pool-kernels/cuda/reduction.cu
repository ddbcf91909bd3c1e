// Sums and dot products, added to a number in device memory.

#include "block.cuh"

// One thread of a block adds for all of it. In which order blocks do is the device's choice, so the
// last bits may differ from run to run.
template <typename W> __device__ void add_to(W *to, W of_thread)
{
    const W of_block = over_block<Sum>(of_thread);
    if (threadIdx.x == 0) {
        atomicAdd(to, of_block);
    }
}

template <typename T> __device__ void sum(const T *x, Wide<T> *to, u64 count)
{
    Wide<T> of_thread = 0;
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        of_thread += widen(x[at]);
    }
    add_to(to, of_thread);
}

template <typename T> __device__ void dot(const T *x, const T *y, Wide<T> *to, u64 count)
{
    Wide<T> of_thread = 0;
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        of_thread = fma(widen(x[at]), widen(y[at]), of_thread);
    }
    add_to(to, of_thread);
}

#define KERNELS(T, suffix)                                                                          \
    extern "C" __global__ void sum_##suffix(const T *x, Wide<T> *to, u64 count)                     \
    {                                                                                               \
        sum(x, to, count);                                                                          \
    }                                                                                               \
    extern "C" __global__ void dot_##suffix(const T *x, const T *y, Wide<T> *to, u64 count)         \
    {                                                                                               \
        dot(x, y, to, count);                                                                       \
    }

FOR_ELEMENTS(KERNELS)
