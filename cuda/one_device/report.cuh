// What is said of a program: a line of output for each thing that is done with it, and what ends it.
#pragma once
#include "ccl_device.cuh"
#include <stdio.h>
#include <stdlib.h>
#include <string>

// What all lines are about.
struct Subject {
    std::string name;
    uint32_t ranks, blocks;
};
static Subject subject;

static void accept(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s %u ranks: %s: %s\n", subject.name.c_str(), subject.ranks, what, cudaGetErrorString(status));
    exit(2);
}

// What is being done now, as the beginning of a line of output, and how it went.
static char doing[200];
static void do_next(const char *how, const char *kind, size_t bytes) {
    snprintf(doing, sizeof doing, "%s\t%u\t%u\t%s\t%s\t%zu", subject.name.c_str(), subject.ranks, subject.blocks, how, kind, bytes);
}
static void say(const char *verdict) { printf("%s\t%s", doing, verdict); }

// Whether there is as much as needed; else a line says that it was not run.
static bool suffices(size_t there, size_t needed, const char *what) {
    if (needed <= there) return true;
    say("not run");
    printf(": %s: %zu are needed, %zu are there\n", what, needed, there);
    return false;
}

// A number of microseconds, or another one, as a column.
static std::string column(float number) {
    char text[32];
    snprintf(text, sizeof text, "\t%.1f", number);
    return text;
}
