// The product of a sparse matrix in compressed rows and a vector, a thread a row.

#include "element.cuh"

template <typename T>
__device__ void product(
    const T *values, const u32 *columns, const u32 *starts, const T *x, T *to, u64 rows)
{
    for (u64 row = first_element(); row < rows; row += elements_apart()) {
        T sum = 0;
        for (u32 at = starts[row]; at < starts[row + 1]; at++) {
            sum = fma(values[at], x[columns[at]], sum);
        }
        to[row] = sum;
    }
}

#define KERNELS(T, suffix)                                                                          \
    extern "C" __global__ void spmv_##suffix(                                                       \
        const T *values, const u32 *columns, const u32 *starts, const T *x, T *to, u64 rows)        \
    {                                                                                               \
        product(values, columns, starts, x, to, rows);                                              \
    }

FOR_FLOATS(KERNELS)
