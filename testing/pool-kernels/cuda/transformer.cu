// What an encoder of text needs beside a product: rows by index, products of parts of arrays, the Gaussian error linear
// unit, softmax of the beginnings of rows, layer norm of a sum, and means of rows at length 1.

#include "block.cuh"

enum : u32 { TILE = 16 };

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
__device__ inline float error_function(float x) { return erff(x); }
__device__ inline double error_function(double x) { return erf(x); }
__device__ inline float root(float x) { return sqrtf(x); }
__device__ inline double root(double x) { return sqrt(x); }

template <typename T>
__device__ void add_rows(
    const T *table, const u32 *indices, T *to, u64 rows, u64 columns, u64 table_rows)
{
    for (u64 at = first_element(); at < rows * columns; at += elements_apart()) {
        const u64 index = indices[at / columns];
        if (index < table_rows) {
            to[at] += table[index * columns + at % columns];
        }
    }
}

// One tile of one product; its barriers are met by all, since `inner` is the same for a block.
template <typename T>
__device__ void product_tile(
    const T *left, const T *right, const T *bias, T *to, u64 rows, u64 columns, u64 inner,
    u64 left_row, u64 right_row, u64 to_row, bool is_turned, T factor, u64 row, u64 column)
{
    __shared__ T of_left[TILE][TILE];
    __shared__ T of_right[TILE][TILE];
    const u32 x = threadIdx.x;
    const u32 y = threadIdx.y;
    T sum = 0;
    for (u64 start = 0; start < inner; start += TILE) {
        const bool has_left = row < rows && start + x < inner;
        const bool has_right = start + y < inner && column < columns;
        const u64 at = is_turned ? column * right_row + start + y : (start + y) * right_row + column;
        of_left[y][x] = has_left ? left[row * left_row + start + x] : T(0);
        of_right[y][x] = has_right ? right[at] : T(0);
        __syncthreads();
        for (u32 term = 0; term < TILE; term++) {
            sum = fma(of_left[y][term], of_right[term][x], sum);
        }
        __syncthreads();
    }
    if (row < rows && column < columns) {
        const T before = bias == nullptr ? T(0) : bias[column];
        to[row * to_row + column] = fma(factor, sum, before);
    }
}

template <typename T>
__device__ void products(
    const T *left, const T *right, const T *bias, T *to, u64 count, u64 rows, u64 columns, u64 inner,
    u64 left_row, u64 left_matrix, u64 right_row, u64 right_matrix, u64 to_row, u64 to_matrix,
    u64 is_turned, T factor)
{
    for (u64 matrix = blockIdx.z; matrix < count; matrix += gridDim.z) {
        for (u64 down = blockIdx.y * TILE; down < rows; down += gridDim.y * TILE) {
            for (u64 across = blockIdx.x * TILE; across < columns; across += gridDim.x * TILE) {
                product_tile(
                    left + matrix * left_matrix, right + matrix * right_matrix, bias,
                    to + matrix * to_matrix, rows, columns, inner, left_row, right_row, to_row,
                    is_turned != 0, factor, down + threadIdx.y, across + threadIdx.x);
            }
        }
    }
}

template <typename T> __device__ void gelu(T *numbers, u64 count)
{
    const T inverse_root_of_2 = T(0.70710678118654752440);
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        const T x = numbers[at];
        numbers[at] = T(0.5) * x * (T(1) + error_function(x * inverse_root_of_2));
    }
}

// The largest of a row is subtracted first, so that no exponential is above 1.
template <typename T>
__device__ void softmax_beginning(T *numbers, const u32 *length, u64 rows, u64 columns)
{
    const u64 within = *length < columns ? *length : columns;
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        T *const start = numbers + row * columns;
        T largest = Maximum::neutral<T>();
        for (u64 at = threadIdx.x; at < within; at += blockDim.x) {
            largest = Maximum::combine(largest, start[at]);
        }
        largest = over_block<Maximum>(largest);
        T sum = 0;
        for (u64 at = threadIdx.x; at < within; at += blockDim.x) {
            sum += exponential(start[at] - largest);
        }
        sum = over_block<Sum>(sum);
        for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
            start[at] = at < within ? exponential(start[at] - largest) / sum : T(0);
        }
    }
}

// A thread has the same columns of a row in all loops.
template <typename T>
__device__ void add_layer_norm(
    const T *update, const T *factor, const T *shift, T *numbers, u64 rows, u64 columns, T epsilon)
{
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        T *const start = numbers + row * columns;
        T sum = 0;
        for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
            start[at] += update[row * columns + at];
            sum += start[at];
        }
        const T mean = over_block<Sum>(sum) / T(columns);
        T squares = 0;
        for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
            const T apart = start[at] - mean;
            squares = fma(apart, apart, squares);
        }
        const T variance = over_block<Sum>(squares) / T(columns);
        const T deviation = root(variance + epsilon);
        for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
            start[at] = fma((start[at] - mean) / deviation, factor[at], shift[at]);
        }
    }
}

// The mean is as long as the sum once both have length 1.
template <typename T>
__device__ void unit_means(
    const T *from, const u32 *lengths, T *to, u64 sequences, u64 rows_of_each, u64 columns)
{
    for (u64 sequence = blockIdx.x; sequence < sequences; sequence += gridDim.x) {
        const u64 rows = lengths[sequence] < rows_of_each ? lengths[sequence] : rows_of_each;
        T squares = 0;
        for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
            T sum = 0;
            for (u64 row = 0; row < rows; row++) {
                sum += from[(sequence * rows_of_each + row) * columns + at];
            }
            to[sequence * columns + at] = sum;
            squares = fma(sum, sum, squares);
        }
        const T length = root(over_block<Sum>(squares));
        for (u64 at = threadIdx.x; at < columns; at += blockDim.x) {
            to[sequence * columns + at] /= length;
        }
    }
}

#define KERNELS(T, suffix)                                                                          \
    extern "C" __global__ void add_rows_##suffix(                                                   \
        const T *table, const u32 *indices, T *to, u64 rows, u64 columns, u64 table_rows)           \
    {                                                                                               \
        add_rows(table, indices, to, rows, columns, table_rows);                                    \
    }                                                                                               \
    extern "C" __global__ void __launch_bounds__(TILE *TILE) products_##suffix(                     \
        const T *left, const T *right, const T *bias, T *to, u64 count, u64 rows, u64 columns,      \
        u64 inner, u64 left_row, u64 left_matrix, u64 right_row, u64 right_matrix, u64 to_row,      \
        u64 to_matrix, u64 is_turned, T factor)                                                     \
    {                                                                                               \
        products(                                                                                   \
            left, right, bias, to, count, rows, columns, inner, left_row, left_matrix, right_row,   \
            right_matrix, to_row, to_matrix, is_turned, factor);                                    \
    }                                                                                               \
    extern "C" __global__ void gelu_##suffix(T *numbers, u64 count) { gelu(numbers, count); }       \
    extern "C" __global__ void softmax_beginning_##suffix(                                          \
        T *numbers, const u32 *length, u64 rows, u64 columns)                                       \
    {                                                                                               \
        softmax_beginning(numbers, length, rows, columns);                                          \
    }                                                                                               \
    extern "C" __global__ void add_layer_norm_##suffix(                                             \
        const T *update, const T *factor, const T *shift, T *numbers, u64 rows, u64 columns,        \
        T epsilon)                                                                                  \
    {                                                                                               \
        add_layer_norm(update, factor, shift, numbers, rows, columns, epsilon);                     \
    }                                                                                               \
    extern "C" __global__ void unit_means_##suffix(                                                 \
        const T *from, const u32 *lengths, T *to, u64 sequences, u64 rows_of_each, u64 columns)     \
    {                                                                                               \
        unit_means(from, lengths, to, sequences, rows_of_each, columns);                            \
    }

FOR_FLOATS(KERNELS)
