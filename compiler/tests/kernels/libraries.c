/* One process loads two builds of a program as libraries, as Python does with modules: each keeps its own numbers.
   Each argument is a library and the chunks of a rank's input. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef size_t (*input_bytes)(int rank, size_t message_bytes);

int main(int count, char **words) {
    const int rank = 2;
    int k, failures = 0;
    for (k = 1; k + 1 < count; k += 2) {
        void *library = dlopen(words[k], RTLD_LAZY | RTLD_LOCAL);
        const size_t wanted = (size_t)atoi(words[k + 1]);
        size_t found;
        input_bytes bytes = NULL;
        if (library) *(void **)&bytes = dlsym(library, "program_input_bytes");
        if (!bytes) return fprintf(stderr, "%s\n", dlerror()), 1;
        found = bytes(rank, 1);
        if (found == wanted) continue;
        fprintf(stderr, "%s: %zu chunks instead of %zu\n", words[k], found, wanted);
        failures += 1;
    }
    return failures > 0;
}
