// Threads. Work is cut into pieces whose bounds depend on the shape of the data alone, and the pieces are
// merged in order, so every answer has the same bits on any number of threads.
#pragma once

#include <algorithm>
#include <exception>
#include <mutex>

#include "common/view.hpp"

namespace tilth {

// Threads a kernel may use now: the OpenMP setting, cut by set_threads; 1 in a forked child, because the
// OpenMP runtime does not survive fork.
int max_threads();

// Upper limit for every later call; 0 lifts it.
void set_threads(int limit);

// Below this many cells starting threads costs more than the work.
inline constexpr Index serial_cells = 50'000;

// Rows [begin, end) cut in `count` near-equal slabs.
struct Slabs {
    Index rows = 0;
    Index count = 1;

    Index begin(Index s) const { return rows / count * s + std::min(s, rows % count); }
    Index end(Index s) const { return begin(s + 1); }
};

// Slabs for accumulators of `accumulator_cells` doubles each: enough to balance the threads, few enough
// that merging stays cheap beside the `rows * cells_per_row` of real work and memory stays bounded.
Slabs slabs_for(Index rows, Index cells_per_row, Index accumulator_cells);

// Slabs for row-wise output, where nothing is merged.
Slabs slabs_for_rows(Index rows, Index cells_per_row);

// Calls body(i) for i in [0, count); `cells` is the whole work, to decide whether threads pay. The first
// exception stops the rest and is thrown again in the caller.
template <class Body>
void parallel_for(Index count, Index cells, Body&& body) {
    const int threads =
        cells < serial_cells ? 1 : static_cast<int>(std::min<Index>(count, max_threads()));
    if (threads <= 1) {
        for (Index i = 0; i < count; ++i) body(i);
        return;
    }
#ifdef _OPENMP
    std::exception_ptr failure;
    std::mutex guard;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (Index i = 0; i < count; ++i) {
        try {
            body(i);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(guard);
            if (!failure) failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
#else
    for (Index i = 0; i < count; ++i) body(i);
#endif
}

}  // namespace tilth
