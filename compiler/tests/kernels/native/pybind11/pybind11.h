// A stand-in: modules are made, but nothing imports them.
#pragma once

namespace pybind11 {

struct Module {
    template <class F> void def(const char *, F) {}
};

struct capsule {
    template <class F> capsule(void *, const char *, F) {}
};

}  // namespace pybind11

#define PYBIND11_MODULE(name, variable) [[maybe_unused]] static void name##_module(pybind11::Module variable)
