// MSCCL++'s executor kernel, unmodified, for all ranks in one launch. Macros turn it into a function that the kernel here calls. It
// takes plan number `blockIdx.x` of an array, which holds the plans of all blocks of all ranks. All ranks share the global variables
// that it has on a device: the barriers, of which there must be more than for one rank, and the pointer to the semaphores. The numbers
// of a rank's barriers and semaphores therefore follow those of the ranks before it.
#pragma once
#include <cassert>
#include <mscclpp/concurrency_device.hpp>
#include <mscclpp/device.hpp>
#include <mscclpp/executor.hpp>
#include <mscclpp/gpu_data_types.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/packet_device.hpp>
#include <mscclpp/port_channel.hpp>
#include <mscclpp/switch_channel_device.hpp>

// Everything but the kernel is included before the macros change these words.
#include "execution_common.hpp"
#include "logger.hpp"
#include "reduce_kernel.hpp"
constexpr uint32_t most_barriers = 4096;
#pragma push_macro("__global__")
#pragma push_macro("__launch_bounds__")
#undef __global__
#undef __launch_bounds__
#define __global__ __device__ __forceinline__
#define __launch_bounds__(...)
#define MAX_DEVICE_SYNCERS (::most_barriers)
#include "execution_kernel.hpp"
#undef MAX_DEVICE_SYNCERS
#pragma pop_macro("__launch_bounds__")
#pragma pop_macro("__global__")

// What a launch is given.
constexpr uint32_t most_ranks = 64;
struct Launch {
    struct {
        float *input, *output, *scratch;
    } ranks[most_ranks];
    mscclpp::DeviceExecutionPlan *plans;  // of the blocks of rank 0, then of rank 1
    mscclpp::DeviceSemaphore *semaphores;
    uint32_t blocks;  // of a rank; those that it does not have do nothing
    uint32_t half;    // bytes to the half of scratch that this launch uses
    uint32_t flag;    // its number, which packets carry
};

__global__ void __launch_bounds__(1024, 1) executor_kernel(const __grid_constant__ Launch launch) {
    const uint32_t rank = blockIdx.x / launch.blocks;
    const auto &own = launch.ranks[rank];
    mscclpp::executionKernel<float, mscclpp::LL16Packet, false>((int)rank, own.input, own.output, own.scratch, launch.half, 0,
                                                                launch.plans, launch.semaphores, 0, launch.flag);
}
