// How elements are combined, apart from any program: the least and the greatest of a number and a NaN is the number, in
// either order, so that ranks that begin with different sources end with the same value.
#include "ccl_device.cuh"
#include <stdio.h>

namespace {

int failures;

template <class T, class Op> void expect(const char *what, float a, float b, float wanted) {
    using namespace ccl;
    const T both[] = {narrow<T>(a), narrow<T>(b)};
    const float found = wide(narrow<T>(combined(Op(), wide(both[0]), wide(both[1]))));
    if (found == wanted || (wanted != wanted && found != found)) return;
    fprintf(stderr, "%s: %g and %g give %g, not %g\n", what, (double)a, (double)b, (double)found, (double)wanted);
    failures += 1;
}

template <class T> void all(const char *what) {
    using namespace ccl;
    const float none = NAN;
    expect<T, Min>(what, -1, 2, -1), expect<T, Min>(what, 2, -1, -1);
    expect<T, Max>(what, -1, 2, 2), expect<T, Max>(what, 2, -1, 2);
    expect<T, Min>(what, none, 2, 2), expect<T, Min>(what, 2, none, 2);
    expect<T, Max>(what, none, 2, 2), expect<T, Max>(what, 2, none, 2);
    expect<T, Min>(what, none, none, none), expect<T, Max>(what, none, none, none);
    expect<T, Sum>(what, none, 2, none), expect<T, Sum>(what, 2, none, none);
}

}  // namespace

int main() {
    all<float>("f32");
    all<ccl::F16>("f16");
    all<ccl::Bf16>("bf16");
    return failures > 0;
}
