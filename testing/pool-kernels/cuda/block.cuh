// Reductions over a block: within warps by shuffles, between warps through shared memory.
//
// Blocks are one-dimensional, of a multiple of 32 threads and at most 1024, and every thread of the
// block takes part.

#pragma once

#include "element.cuh"

// An enumeration, because a constant would become a variable of the module.
enum : u32 { LANES = 32, ALL_LANES = 0xffffffff };

struct Sum {
    template <typename T> static __device__ T neutral() { return T(0); }
    template <typename T> static __device__ T combine(T a, T b) { return a + b; }
};

struct Maximum {
    // Minus infinity.
    template <typename T> static __device__ T neutral() { return __int_as_float(0xff800000); }
    template <typename T> static __device__ T combine(T a, T b) { return a < b ? b : a; }
};

// Every lane gets the same bits, because each pair of lanes combines the same two values.
template <typename How, typename T> __device__ T over_warp(T value)
{
    for (u32 distance = LANES / 2; distance > 0; distance /= 2) {
        value = How::combine(value, __shfl_xor_sync(ALL_LANES, value, distance));
    }
    return value;
}

template <typename How, typename T> __device__ T over_block(T value)
{
    __shared__ T of_warps[LANES];
    const u32 lane = threadIdx.x % LANES;
    const u32 warp = threadIdx.x / LANES;
    value = over_warp<How>(value);
    // A warp may still read the results of the reduction before.
    __syncthreads();
    if (lane == 0) {
        of_warps[warp] = value;
    }
    __syncthreads();
    const bool is_a_warp = lane < blockDim.x / LANES;
    return over_warp<How>(is_a_warp ? of_warps[lane] : How::template neutral<T>());
}
