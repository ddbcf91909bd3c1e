// Kernels that compute each element from those at the same place.

#include "element.cuh"

template <typename T> __device__ void fill(T *to, Wide<T> value, u64 count)
{
    const T narrowed = narrow<T>(value);
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        to[at] = narrowed;
    }
}

template <typename T> __device__ void copy(const T *from, T *to, u64 count)
{
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        to[at] = from[at];
    }
}

template <typename T> __device__ void axpy(Wide<T> factor, const T *x, T *y, u64 count)
{
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        y[at] = narrow<T>(fma(factor, widen(x[at]), widen(y[at])));
    }
}

template <typename T> __device__ void scale(Wide<T> factor, T *x, u64 count)
{
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        x[at] = narrow<T>(factor * widen(x[at]));
    }
}

struct Add {
    template <typename W> static __device__ W of(W x, W y) { return x + y; }
};
struct Multiply {
    template <typename W> static __device__ W of(W x, W y) { return x * y; }
};

template <typename How, typename T>
__device__ void combine(const T *x, const T *y, T *to, u64 count)
{
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        to[at] = narrow<T>(How::of(widen(x[at]), widen(y[at])));
    }
}

struct Exponential {
    static __device__ float of(float x) { return expf(x); }
    static __device__ double of(double x) { return exp(x); }
};
struct Rectifier {
    // What is no number stays so.
    template <typename W> static __device__ W of(W x) { return x < W(0) ? W(0) : x; }
};

template <typename How, typename T> __device__ void map(const T *x, T *to, u64 count)
{
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        to[at] = narrow<T>(How::of(widen(x[at])));
    }
}

// y + sign * (numerator / denominator) * x: steps of an iteration whose scalars stay on the device.
template <typename T>
__device__ void axpy_ratio(const T *numerator, const T *denominator, T sign, const T *x, T *y, u64 count)
{
    const T factor = sign * (*numerator / *denominator);
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        y[at] = fma(factor, x[at], y[at]);
    }
}

template <typename T>
__device__ void xpay_ratio(const T *numerator, const T *denominator, const T *x, T *y, u64 count)
{
    const T factor = *numerator / *denominator;
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        y[at] = fma(factor, y[at], x[at]);
    }
}

#define KERNELS(T, suffix)                                                                          \
    extern "C" __global__ void fill_##suffix(T *to, Wide<T> value, u64 count)                       \
    {                                                                                               \
        fill(to, value, count);                                                                     \
    }                                                                                               \
    extern "C" __global__ void copy_##suffix(const T *from, T *to, u64 count)                       \
    {                                                                                               \
        copy(from, to, count);                                                                      \
    }                                                                                               \
    extern "C" __global__ void axpy_##suffix(Wide<T> factor, const T *x, T *y, u64 count)           \
    {                                                                                               \
        axpy(factor, x, y, count);                                                                  \
    }                                                                                               \
    extern "C" __global__ void scale_##suffix(Wide<T> factor, T *x, u64 count)                      \
    {                                                                                               \
        scale(factor, x, count);                                                                    \
    }                                                                                               \
    extern "C" __global__ void add_##suffix(const T *x, const T *y, T *to, u64 count)               \
    {                                                                                               \
        combine<Add>(x, y, to, count);                                                              \
    }                                                                                               \
    extern "C" __global__ void mul_##suffix(const T *x, const T *y, T *to, u64 count)               \
    {                                                                                               \
        combine<Multiply>(x, y, to, count);                                                         \
    }                                                                                               \
    extern "C" __global__ void exp_##suffix(const T *x, T *to, u64 count)                           \
    {                                                                                               \
        map<Exponential>(x, to, count);                                                             \
    }                                                                                               \
    extern "C" __global__ void relu_##suffix(const T *x, T *to, u64 count)                          \
    {                                                                                               \
        map<Rectifier>(x, to, count);                                                               \
    }

#define RATIO_KERNELS(T, suffix)                                                                    \
    extern "C" __global__ void axpy_ratio_##suffix(                                                 \
        const T *numerator, const T *denominator, T sign, const T *x, T *y, u64 count)              \
    {                                                                                               \
        axpy_ratio(numerator, denominator, sign, x, y, count);                                      \
    }                                                                                               \
    extern "C" __global__ void xpay_ratio_##suffix(                                                 \
        const T *numerator, const T *denominator, const T *x, T *y, u64 count)                      \
    {                                                                                               \
        xpay_ratio(numerator, denominator, x, y, count);                                            \
    }

FOR_ELEMENTS(KERNELS)
FOR_FLOATS(RATIO_KERNELS)
