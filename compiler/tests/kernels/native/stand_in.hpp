// What native algorithms use of MSCCL++ 0.9, for ranks that are threads of one process: memory is registered and sent as
// plain addresses, and contexts are kept as the library keeps them. A memory that nobody sends ends the process with 3.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

typedef void *cudaStream_t;

namespace mscclpp {

enum class DataType { INT32, UINT32, FLOAT16, FLOAT32, BFLOAT16, FLOAT8_E4M3FN, UINT8 };
enum ReduceOp { SUM = 0, MIN = 3, NOP = 255 };
enum class CollectiveBufferMode { Any, InPlace, OutOfPlace };
enum class Transport { CudaIpc };
enum class CommResult {
    CommSuccess,
    CommUnhandledCudaError,
    CommSystemError,
    CommInternalError,
    CommInvalidArgument,
    CommInvalidUsage
};

constexpr char ALGORITHM_NATIVE_CAPSULE_NAME[] = "algorithm";

class RegisteredMemory {
    void *place = nullptr;

  public:
    RegisteredMemory() = default;
    explicit RegisteredMemory(void *place) : place(place) {}
    void *data() const { return place; }
};

// What the ranks have sent each other and not yet received, by sender, receiver and tag.
struct Post {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::tuple<int, int, int>, std::deque<RegisteredMemory>> sent;
    int registered = 0;
};

struct Bootstrap {
    int rank, ranks;
    int getRank() const { return rank; }
    int getNranks() const { return ranks; }
};

class Communicator {
    Post &post;
    std::shared_ptr<Bootstrap> own;

    RegisteredMemory receive(int from, int tag) {
        std::unique_lock<std::mutex> lock(post.mutex);
        std::deque<RegisteredMemory> &queue = post.sent[{from, own->rank, tag}];
        if (!post.changed.wait_for(lock, std::chrono::seconds(5), [&] { return !queue.empty(); })) {
            fprintf(stderr, "rank %d waits for memory of rank %d in vain\n", own->rank, from);
            _Exit(3);
        }
        RegisteredMemory memory = queue.front();
        queue.pop_front();
        return memory;
    }

  public:
    Communicator(Post &post, int rank, int ranks) : post(post), own(new Bootstrap{rank, ranks}) {}
    std::shared_ptr<Bootstrap> bootstrap() { return own; }
    RegisteredMemory registerMemory(void *place, size_t bytes, Transport) {
        if (!place || bytes == 0) throw std::runtime_error("there is no memory to register");
        std::lock_guard<std::mutex> lock(post.mutex);
        ++post.registered;
        return RegisteredMemory(place);
    }
    void sendMemory(RegisteredMemory memory, int to, int tag = 0) {
        std::lock_guard<std::mutex> lock(post.mutex);
        post.sent[{own->rank, to, tag}].push_back(memory);
        post.changed.notify_all();
    }
    std::shared_future<RegisteredMemory> recvMemory(int from, int tag = 0) {
        return std::async(std::launch::deferred, [this, from, tag] { return receive(from, tag); }).share();
    }
};

namespace detail {
template <class T> std::shared_ptr<T> gpuCallocShared(size_t count) {
    const size_t bytes = (count * sizeof(T) + 255) / 256 * 256;
    T *memory = static_cast<T *>(std::aligned_alloc(256, bytes));
    memset(memory, 0, bytes);
    return std::shared_ptr<T>(memory, std::free);
}
}  // namespace detail

struct AlgorithmCtxKey {
    void *baseSendBuff, *baseRecvBuff;
    size_t baseSendSize, baseRecvSize;
    int tag;
    auto operator<=>(const AlgorithmCtxKey &) const = default;
};

class Executor;
using Extras = std::unordered_map<std::string, uintptr_t>;
using Tags = std::unordered_map<std::string, uint64_t>;
using Context = std::shared_ptr<void>;

struct Algorithm {
    struct Constraint {
        int worldSize, nRanksPerNode;
    };
    virtual ~Algorithm() = default;
};

struct AlgorithmBuilder {
    virtual ~AlgorithmBuilder() = default;
    virtual std::shared_ptr<Algorithm> build() = 0;
};

struct NativeAlgorithm : Algorithm {
    std::function<void(std::shared_ptr<Communicator>)> begin;
    std::function<CommResult(Context, const void *, void *, size_t, size_t, DataType, ReduceOp, cudaStream_t, int, int,
                             const Extras &, DataType)>
        launch;
    std::function<Context(std::shared_ptr<Communicator>, const void *, void *, size_t, size_t, DataType)> make;
    std::function<AlgorithmCtxKey(const void *, void *, size_t, size_t, DataType, bool)> key;
    size_t least, most;
    std::map<AlgorithmCtxKey, Context> contexts;

    NativeAlgorithm(std::string, std::string, decltype(begin) begin, decltype(launch) launch, decltype(make) make,
                    decltype(key) key, size_t least, size_t most, CollectiveBufferMode, Tags, Constraint)
        : begin(begin), launch(launch), make(make), key(key), least(least), most(most) {}

    CommResult execute(std::shared_ptr<Communicator> communicator, const void *input, void *output, size_t input_bytes,
                       size_t output_bytes, DataType type, ReduceOp op, cudaStream_t stream, bool is_symmetric) {
        begin(communicator);
        Context &context = contexts[key(input, output, input_bytes, output_bytes, type, is_symmetric)];
        if (!context) context = make(communicator, input, output, input_bytes, output_bytes, type);
        return launch(context, input, output, input_bytes, output_bytes, type, op, stream, 0, 0, {}, type);
    }
};

}  // namespace mscclpp
