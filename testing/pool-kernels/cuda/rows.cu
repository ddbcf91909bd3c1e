// Softmax and layer norm over the rows of a row-major matrix, a block a row.

#include "block.cuh"

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
__device__ inline float inverse_root(float x) { return rsqrtf(x); }
__device__ inline double inverse_root(double x) { return rsqrt(x); }

// The largest of a row is subtracted first, so that no exponential is above 1.
template <typename T> __device__ void softmax_row(const T *from, T *to, u64 columns)
{
    using W = Wide<T>;
    W largest = Maximum::neutral<W>();
    for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
        largest = Maximum::combine(largest, widen(from[at]));
    }
    largest = over_block<Maximum>(largest);
    W sum = 0;
    for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
        sum += exponential(widen(from[at]) - largest);
    }
    sum = over_block<Sum>(sum);
    for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
        to[at] = narrow<T>(exponential(widen(from[at]) - largest) / sum);
    }
}

template <typename T> __device__ void softmax(const T *from, T *to, u64 rows, u64 columns)
{
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        softmax_row(from + row * columns, to + row * columns, columns);
    }
}

// The mean first and the variance from what differs from it: one pass for both would cancel.
template <typename T>
__device__ void norm_row(
    const T *from, const T *factor, const T *shift, T *to, u64 columns, Wide<T> epsilon)
{
    using W = Wide<T>;
    W sum = 0;
    for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
        sum += widen(from[at]);
    }
    const W mean = over_block<Sum>(sum) / W(columns);
    W squares = 0;
    for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
        const W apart = widen(from[at]) - mean;
        squares = fma(apart, apart, squares);
    }
    const W variance = over_block<Sum>(squares) / W(columns);
    const W inverse = inverse_root(variance + epsilon);
    for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
        const W normal = (widen(from[at]) - mean) * inverse;
        to[at] = narrow<T>(fma(normal, widen(factor[at]), widen(shift[at])));
    }
}

template <typename T>
__device__ void layer_norm(
    const T *from, const T *factor, const T *shift, T *to, u64 rows, u64 columns, Wide<T> epsilon)
{
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        norm_row(from + row * columns, factor, shift, to + row * columns, columns, epsilon);
    }
}

#define KERNELS(T, suffix)                                                                          \
    extern "C" __global__ void softmax_##suffix(const T *from, T *to, u64 rows, u64 columns)        \
    {                                                                                               \
        softmax(from, to, rows, columns);                                                           \
    }                                                                                               \
    extern "C" __global__ void layer_norm_##suffix(                                                 \
        const T *from, const T *factor, const T *shift, T *to, u64 rows, u64 columns,               \
        Wide<T> epsilon)                                                                            \
    {                                                                                               \
        layer_norm(from, factor, shift, to, rows, columns, epsilon);                                \
    }

FOR_ELEMENTS(KERNELS)
