// How long launches take.
#pragma once
#include "device.cuh"
#include <algorithm>
#include <vector>

// Lets the device wait, so that what is launched meanwhile follows without a gap.
__global__ void hold(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {}
}

// Microseconds of each of so many parts; `launches` in all, for which the device waits first.
template <class F> static std::vector<float> parts(int count, int launches, F act) {
    std::vector<cudaEvent_t> marks(count + 1);
    std::vector<float> times(count);
    for (cudaEvent_t &mark : marks) accept(cudaEventCreate(&mark), "event");
    const cudaLaunchConfig_t config = one_thread(home);
    accept(cudaLaunchKernelEx(&config, hold, launches * 30000ll), "hold");
    accept(cudaEventRecord(marks[0], home), "event");
    for (int i = 0; i < count; ++i) {
        act();
        accept(cudaEventRecord(marks[i + 1], home), "event");
    }
    finish();
    for (int i = 0; i < count; ++i) {
        accept(cudaEventElapsedTime(&times[i], marks[i], marks[i + 1]), "event");
        times[i] *= 1000;
    }
    for (cudaEvent_t mark : marks) cudaEventDestroy(mark);
    return times;
}

// Of each launch, ascending.
template <class F> static std::vector<float> timed(int count, F act) {
    std::vector<float> times = parts(count, count, act);
    std::sort(times.begin(), times.end());
    return times;
}

// The mean of launches, all of which `act` does.
template <class F> static float mean(int count, F act) { return parts(1, count, act)[0] / count; }

template <class F> static void repeat(int count, F act) {
    for (int i = 0; i < count; ++i) act();
}

// Clocks go up when there is work: a fifth of a second of it before anything is timed, then a few launches of what is.
template <class F> static void warm_up(F act) {
    static bool warm = false;
    const auto begin = Clock::now();
    do {
        repeat(warm ? 5 : 100, act);
        finish();
    } while (!warm && Clock::now() - begin < std::chrono::milliseconds(200));
    warm = true;
}

// How many launches are timed: 200, or as many as take half a second.
static int launches_of(float milliseconds) { return std::min(200, std::max(10, (int)(500 / milliseconds))); }

// The columns that say how long a launch takes: how many there were; with an event after each the median, the least, a tenth,
// nine tenths, the most; the mean of as many without events.
struct Times {
    float median;
    std::string text;
};
template <class F> static Times time_launches(int count, F launch) {
    warm_up(launch);
    const size_t n = count;
    const std::vector<float> times = timed(count, launch);
    std::string text = '\t' + std::to_string(count);
    for (size_t at : {n / 2, (size_t)0, n / 10, n * 9 / 10, n - 1}) text += column(times[at]);
    return {times[n / 2], text + column(mean(count, [&] { repeat(count, launch); }))};
}
