// A strided array made contiguous, as a description in device memory says.
//
// The description can be changed between two replays of a captured launch: nothing of it is a
// parameter. It is words of 64 bits: the rank, the place of the first element, the lengths, the
// strides (in elements, and negative ones are allowed).

#include "element.cuh"

__device__ inline u64 elements_of(const u64 *lengths, u64 rank)
{
    u64 elements = 1;
    for (u64 axis = 0; axis < rank; axis++) {
        elements *= lengths[axis];
    }
    return elements;
}

// Where the element lies that is this one in row-major order.
__device__ inline i64 place_of(u64 element, const u64 *lengths, const i64 *strides, u64 rank)
{
    i64 place = 0;
    for (u64 axis = rank; axis-- > 0;) {
        place += static_cast<i64>(element % lengths[axis]) * strides[axis];
        element /= lengths[axis];
    }
    return place;
}

template <typename T>
__device__ void gather(const T *from, T *to, const u64 *description, u64 capacity)
{
    const u64 rank = description[0];
    const i64 start = static_cast<i64>(description[1]);
    const u64 *lengths = description + 2;
    const i64 *strides = reinterpret_cast<const i64 *>(lengths + rank);
    const u64 all = elements_of(lengths, rank);
    const u64 count = all < capacity ? all : capacity;
    for (u64 at = first_element(); at < count; at += elements_apart()) {
        to[at] = from[start + place_of(at, lengths, strides, rank)];
    }
}

#define KERNELS(T, suffix)                                                                          \
    extern "C" __global__ void gather_##suffix(                                                     \
        const T *from, T *to, const u64 *description, u64 capacity)                                 \
    {                                                                                               \
        gather(from, to, description, capacity);                                                    \
    }

FOR_ELEMENTS(KERNELS)
