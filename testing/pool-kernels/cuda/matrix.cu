// The product and the transpose of row-major matrices, a tile in shared memory at a time.

#include "element.cuh"

enum : u32 { PRODUCT_TILE = 16, TRANSPOSE_TILE = 32, TRANSPOSE_ROWS = 8 };

__device__ inline u64 tiles(u64 length, u32 tile) { return (length + tile - 1) / tile; }

// One tile of `to`; the loops around it depend on the block alone, so its barriers are met by all.
template <typename T>
__device__ void product_tile(
    const T *left, const T *right, T *to, u64 rows, u64 columns, u64 inner, u64 row, u64 column)
{
    __shared__ Wide<T> of_left[PRODUCT_TILE][PRODUCT_TILE];
    __shared__ Wide<T> of_right[PRODUCT_TILE][PRODUCT_TILE];
    const u32 x = threadIdx.x;
    const u32 y = threadIdx.y;
    Wide<T> sum = 0;
    for (u64 start = 0; start < inner; start += PRODUCT_TILE) {
        const bool has_left = row < rows && start + x < inner;
        const bool has_right = start + y < inner && column < columns;
        of_left[y][x] = has_left ? widen(left[row * inner + start + x]) : Wide<T>(0);
        of_right[y][x] = has_right ? widen(right[(start + y) * columns + column]) : Wide<T>(0);
        __syncthreads();
        for (u32 at = 0; at < PRODUCT_TILE; at++) {
            sum = fma(of_left[y][at], of_right[at][x], sum);
        }
        __syncthreads();
    }
    if (row < rows && column < columns) {
        to[row * columns + column] = narrow<T>(sum);
    }
}

template <typename T>
__device__ void product(const T *left, const T *right, T *to, u64 rows, u64 columns, u64 inner)
{
    for (u64 down = blockIdx.y; down < tiles(rows, PRODUCT_TILE); down += gridDim.y) {
        for (u64 across = blockIdx.x; across < tiles(columns, PRODUCT_TILE); across += gridDim.x) {
            const u64 row = down * PRODUCT_TILE + threadIdx.y;
            const u64 column = across * PRODUCT_TILE + threadIdx.x;
            product_tile(left, right, to, rows, columns, inner, row, column);
        }
    }
}

// A column more than there are elements, so that a column of the tile lies in different banks.
template <typename T>
__device__ void transpose_tile(const T *from, T *to, u64 rows, u64 columns, u64 down, u64 across)
{
    __shared__ T tile[TRANSPOSE_TILE][TRANSPOSE_TILE + 1];
    for (u32 y = threadIdx.y; y < TRANSPOSE_TILE; y += TRANSPOSE_ROWS) {
        const u64 row = down * TRANSPOSE_TILE + y;
        const u64 column = across * TRANSPOSE_TILE + threadIdx.x;
        if (row < rows && column < columns) {
            tile[y][threadIdx.x] = from[row * columns + column];
        }
    }
    __syncthreads();
    for (u32 y = threadIdx.y; y < TRANSPOSE_TILE; y += TRANSPOSE_ROWS) {
        const u64 row = across * TRANSPOSE_TILE + y;
        const u64 column = down * TRANSPOSE_TILE + threadIdx.x;
        if (row < columns && column < rows) {
            to[row * rows + column] = tile[threadIdx.x][y];
        }
    }
    __syncthreads();
}

template <typename T> __device__ void transpose(const T *from, T *to, u64 rows, u64 columns)
{
    for (u64 down = blockIdx.y; down < tiles(rows, TRANSPOSE_TILE); down += gridDim.y) {
        for (u64 across = blockIdx.x; across < tiles(columns, TRANSPOSE_TILE); across += gridDim.x) {
            transpose_tile(from, to, rows, columns, down, across);
        }
    }
}

#define KERNELS(T, suffix)                                                                          \
    extern "C" __global__ void __launch_bounds__(PRODUCT_TILE *PRODUCT_TILE) matmul_##suffix(       \
        const T *left, const T *right, T *to, u64 rows, u64 columns, u64 inner)                     \
    {                                                                                               \
        product(left, right, to, rows, columns, inner);                                             \
    }                                                                                               \
    extern "C" __global__ void __launch_bounds__(TRANSPOSE_TILE *TRANSPOSE_ROWS)                    \
        transpose_##suffix(const T *from, T *to, u64 rows, u64 columns)                             \
    {                                                                                               \
        transpose(from, to, rows, columns);                                                         \
    }

FOR_ELEMENTS(KERNELS)
