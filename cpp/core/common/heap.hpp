// The C library keeps what was freed, thread by thread, for later; between a phase of many short-lived vectors and one of
// large arrays it does better to give the pages back.
#pragma once

#include <cstddef>  // tells whether the C library is glibc

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tilth {

// Bytes left behind from which on giving them back is worth the call.
inline constexpr std::size_t worth_giving_back = 4u << 20;

inline void give_back_freed_memory() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

}  // namespace tilth
