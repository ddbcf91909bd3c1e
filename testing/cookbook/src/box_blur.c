#include <stddef.h>

/* The mean of each sample and its neighbours. */
void box_blur(const float *input, float *output, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t first = i == 0 ? 0 : i - 1;
        size_t last = i + 1 == length ? i : i + 1;
        float sum = 0.0f;
        for (size_t j = first; j <= last; j++) {
            sum += input[j];
        }
        output[i] = sum / (float)(last - first + 1);
    }
}
