// The yardstick for a program: a kernel that does nothing but read and write as many distinct bytes.
#pragma once
#include "times.cuh"

constexpr int copy_threads = 512, copy_loads = 4;

// Each thread has several loads in flight, since that keeps memory busy. If more is read than written, the rest is combined into a value
// that is tested, so that the compiler cannot leave the loads out.
__global__ void __launch_bounds__(copy_threads) copy_kernel(const char *from, size_t read, char *to, size_t written) {
    const size_t first = 16 * (blockIdx.x * (size_t)blockDim.x + threadIdx.x), stride = 16 * ((size_t)gridDim.x * blockDim.x);
    const size_t both = read < written ? read : written;
    for (size_t at = first; at < both; at += copy_loads * stride) {
        ccl::V16 data[copy_loads];
        CCL_UNROLL
        for (int i = 0; i < copy_loads; ++i)
            if (at + i * stride < both) data[i] = ccl::load<ccl::V16>(from + at + i * stride);
        CCL_UNROLL
        for (int i = 0; i < copy_loads; ++i)
            if (at + i * stride < both) ccl::store(to + at + i * stride, data[i]);
    }
    uint32_t seen = 0;
    for (size_t at = both + first; at < read; at += copy_loads * stride) {
        ccl::V16 data[copy_loads] = {};
        CCL_UNROLL
        for (int i = 0; i < copy_loads; ++i)
            if (at + i * stride < read) data[i] = ccl::load<ccl::V16>(from + at + i * stride);
        CCL_UNROLL
        for (int i = 0; i < copy_loads; ++i) seen |= data[i].word[0] | data[i].word[1] | data[i].word[2] | data[i].word[3];
    }
    if (seen != 0) ccl::store(to, ccl::V4{{seen}});  // never happens, since zeros are read
    for (size_t at = both + first; at < written; at += stride) ccl::store(to + at, ccl::V16{});
}

// The columns of the copy: its median with an event after each launch, the mean of a batch without events, the program's speed in
// percent of the copy's, by the medians; and the median of the driver's copy of as many bytes, which reads and writes half of the sum
// each. Both copies are made at most 50 times, in memory of their own.
static std::string time_copy(size_t read, size_t written, int count, float median) {
    count = std::min(count, 50);
    char *from = memory(std::max(read, written)), *to = memory(std::max(read, written));
    const size_t most = blocks_at_once(copy_kernel, copy_threads), bytes = std::max(read, written);
    const size_t each = 16 * copy_threads * copy_loads, blocks = std::min(most, (bytes + each - 1) / each);
    const cudaLaunchConfig_t config = {dim3((unsigned)blocks), dim3(copy_threads), 0, home, nullptr, 0};
    const auto kernel = [&] { accept(cudaLaunchKernelEx(&config, copy_kernel, (const char *)from, read, to, written), "copy"); };
    const auto driver = [&] {
        accept(cudaMemcpyAsync(to, from, (read + written) / 2, cudaMemcpyDeviceToDevice, home), "copy");
    };
    accept(cudaMemsetAsync(from, 0, bytes, home), "memset");
    warm_up(kernel);
    const float copied = timed(count, kernel)[count / 2], batch = mean(count, [&] { repeat(count, kernel); });
    warm_up(driver);
    const float by_driver = timed(count, driver)[count / 2];
    cudaFree(from), cudaFree(to);
    return column(copied) + column(batch) + column(100 * copied / median) + column(by_driver);
}
