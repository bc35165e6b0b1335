// One macro for the hot loops: the compiler makes an AVX2 + FMA copy beside the portable one and the
// loader picks. Functions that carry it are plain (no templates, no lambdas), because GCC cannot clone those.
#pragma once

#include <cstdlib>  // tells whether the C library is glibc, whose loader can pick

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(TILTH_NO_CLONES)
#define TILTH_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define TILTH_CLONES
#endif
