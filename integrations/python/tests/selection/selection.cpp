// MSCCL++'s own choice of an algorithm as a Python module, without a GPU.
//
// In: a checkout's `src/core/algorithm.cc`, `src/ext/nccl/algorithm_selector.cc` and the bindings of both, which are compiled with
// this file. Out: `ask`, which makes a request and returns the name of the algorithm that MSCCL++ takes. What is not part of the
// choice stands in here: plans are read as far as their head, the builder has no native algorithms, and nothing is executed.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <fstream>
#include <iterator>
#include <mscclpp/algorithm.hpp>
#include <mscclpp/ext/collectives/algorithm_collection_builder.hpp>
#include <regex>

#include "algorithm_selector.hpp"

namespace nb = nanobind;
using namespace mscclpp;
using collective::AlgorithmCollectionBuilder;
using Algorithms = std::unordered_map<std::string, std::unordered_map<std::string, std::shared_ptr<Algorithm>>>;

void register_algorithm(nb::module_& m);
void register_algorithm_collection_builder(nb::module_& m);

namespace mscclpp {

struct ExecutionPlan::Impl {
    std::string name, collective;
    bool in_place;
    size_t least, most;
};

static std::string value(const std::string& text, const char* key) {
    std::smatch found;
    std::regex_search(text, found, std::regex(std::string("\"") + key + "\": ?\"?([^\",}]*)"));
    return found[1];
}

ExecutionPlan::ExecutionPlan(const std::string& path, int) : impl_(std::make_shared<Impl>()) {
    std::ifstream file(path);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    *impl_ = {value(text, "name"), value(text, "collective"), value(text, "inplace") == "true",
              std::stoull(value(text, "min_message_size")), std::stoull(value(text, "max_message_size"))};
}
const std::string& ExecutionPlan::name() const { return impl_->name; }
const std::string& ExecutionPlan::collective() const { return impl_->collective; }
size_t ExecutionPlan::minMessageSize() const { return impl_->least; }
size_t ExecutionPlan::maxMessageSize() const { return impl_->most; }
bool ExecutionPlan::isInPlace() const { return impl_->in_place; }

namespace collective {

std::shared_ptr<AlgorithmCollectionBuilder> AlgorithmCollectionBuilder::gAlgorithmCollectionBuilder_;
std::shared_ptr<AlgorithmCollectionBuilder> AlgorithmCollectionBuilder::getInstance() {
    if (!gAlgorithmCollectionBuilder_) gAlgorithmCollectionBuilder_.reset(new AlgorithmCollectionBuilder());
    return gAlgorithmCollectionBuilder_;
}
void AlgorithmCollectionBuilder::reset() { gAlgorithmCollectionBuilder_.reset(); }
void AlgorithmCollectionBuilder::addAlgorithmBuilder(std::shared_ptr<AlgorithmBuilder> builder) {
    algoBuilders_.push_back(builder);
}
void AlgorithmCollectionBuilder::setAlgorithmSelector(AlgoSelectFunc selector) { algoSelector_ = selector; }
void AlgorithmCollectionBuilder::setFallbackAlgorithmSelector(AlgoSelectFunc selector) { fallbackAlgoSelector_ = selector; }
AlgorithmCollection AlgorithmCollectionBuilder::build() {
    AlgorithmCollection made;
    for (const auto& builder : algoBuilders_) {
        auto algorithm = builder->build();
        made.registerAlgorithm(algorithm->collective(), algorithm->name(), algorithm);
    }
    made.setSelectors(algoSelector_, fallbackAlgoSelector_);
    return made;
}
AlgorithmCollection AlgorithmCollectionBuilder::buildDefaultAlgorithms(uintptr_t, size_t, uintptr_t, size_t, int) {
    return build();
}

}  // namespace collective
}  // namespace mscclpp

// The part of `algoSelector` in `src/ext/nccl/nccl.cc` that concerns plans.
static std::shared_ptr<Algorithm> fallback(const Algorithms& algorithms, const CollectiveRequest& request) {
    auto found = algorithms.find(request.collective);
    if (found == algorithms.end()) return nullptr;
    for (const auto& [name, algorithm] : found->second) {
        auto plan = std::static_pointer_cast<DslAlgorithm>(algorithm);
        if (nccl::matchExecutionPlan(plan, request)) return algorithm;
    }
    return nullptr;
}

struct Group {
    AlgorithmCollection algorithms;
};

// The name of the algorithm that is taken for a request; empty if there is none. As in a call of C, Python is not locked.
static std::string ask(Group& group, int ranks, int ranks_per_node, int rank, uintptr_t given, uintptr_t made,
                       size_t size, std::string collective, DataType dtype, int root) {
    std::unordered_map<std::string, std::vector<uint64_t>> hints;
    if (root >= 0) hints["root"] = {static_cast<uint64_t>(root)};
    CollectiveRequest request = {.worldSize = ranks,
                                 .nRanksPerNode = ranks_per_node,
                                 .rank = rank,
                                 .inputBuffer = reinterpret_cast<void*>(given),
                                 .outputBuffer = reinterpret_cast<void*>(made),
                                 .messageSize = size,
                                 .stream = nullptr,
                                 .collective = collective,
                                 .dtype = dtype,
                                 .hints = hints};
    nb::gil_scoped_release unlocked;
    auto algorithm = group.algorithms.selectAlgorithm(request);
    return algorithm ? algorithm->name() : "";
}

NB_MODULE(_mscclpp, m) {
    nb::enum_<DataType>(m, "CppDataType")
        .value("int32", DataType::INT32)
        .value("uint32", DataType::UINT32)
        .value("float16", DataType::FLOAT16)
        .value("float32", DataType::FLOAT32)
        .value("bfloat16", DataType::BFLOAT16)
        .value("float8_e4m3fn", DataType::FLOAT8_E4M3FN)
        .value("uint8", DataType::UINT8);
    nb::class_<ExecutionPlan>(m, "CppExecutionPlan")
        .def(nb::init<const std::string&, int>(), nb::arg("path"), nb::arg("rank"));
    nb::class_<Executor>(m, "CppExecutor");
    nb::class_<Communicator>(m, "CppCommunicator");
    register_algorithm(m);
    register_algorithm_collection_builder(m);
    nb::class_<Group>(m, "Group").def("__init__", [](Group* self) {
        auto builder = AlgorithmCollectionBuilder::getInstance();
        builder->setFallbackAlgorithmSelector(fallback);
        new (self) Group{builder->build()};
    });
    m.def("ask", ask);
}
