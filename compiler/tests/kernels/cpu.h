// The machine on which kernels run as threads: one stream for each rank, on which only that rank waits.
#pragma once
#include <stddef.h>

struct Stream;

// A stream whose blocks have so many threads each.
Stream *make_stream(unsigned rank, unsigned threads);

// Waits until everything that was launched on the stream is done.
void settle(Stream *stream);

// Whether it is done.
bool settled(Stream *stream);

// How long a thread may look for one thing in vain, in seconds; then the process ends with 3.
void limit_waiting(double seconds);
