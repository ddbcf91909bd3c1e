// Sums of squares: each block adds up 256 numbers and writes one sum.
//
// squares.ptx is made of this file by NVRTC: --gpu-architecture=compute_75 --std=c++17

#define THREADS 256u

template <bool WITH_BARRIERS>
__device__ void sum(const float *values, unsigned count, float *sums) {
    __shared__ float partial[THREADS];
    unsigned thread = threadIdx.x;
    unsigned place = blockIdx.x * THREADS + thread;
    float value = place < count ? values[place] : 0.0f;
    partial[thread] = value * value;
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (WITH_BARRIERS) {
            __syncthreads();
        }
        if (thread < half) {
            partial[thread] += partial[thread + half];
        }
    }
    if (thread == 0) {
        sums[blockIdx.x] = partial[0];
    }
}

extern "C" __global__ void squares(const float *values, unsigned count, float *sums) {
    sum<true>(values, count, sums);
}

// A mistake to be found: what other threads have written is read without a barrier.
extern "C" __global__ void squares_without_barriers(const float *values, unsigned count, float *sums) {
    sum<false>(values, count, sums);
}
