#include "common/parallel.hpp"

#include <atomic>

#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace tilth {
namespace {

std::atomic<int> thread_limit{0};
std::atomic<bool> forked{false};

#if defined(__unix__) || defined(__APPLE__)
const int fork_hook = pthread_atfork(nullptr, nullptr, [] { forked = true; });
#endif

}  // namespace

int max_threads() {
#if defined(__unix__) || defined(__APPLE__)
    (void)fork_hook;
#endif
    if (forked) return 1;
#ifdef _OPENMP
    const int available = omp_get_max_threads();
    const int limit = thread_limit;
    return std::max(1, limit > 0 ? std::min(limit, available) : available);
#else
    return 1;
#endif
}

void set_threads(int limit) { thread_limit = limit; }

Slabs slabs_for(Index rows, Index cells_per_row, Index accumulator_cells) {
    constexpr Index most_slabs = 64;
    constexpr Index accumulator_budget = Index{1} << 25;  // doubles over all slabs: 256 MB
    if (rows * cells_per_row < serial_cells) return {rows, 1};
    const Index cells = std::max<Index>(1, accumulator_cells);
    const Index by_memory = accumulator_budget / cells;
    const Index work = rows * std::max<Index>(1, cells_per_row);
    const Index by_merge = std::max(work / (16 * cells), std::min<Index>(4, work / (2 * cells)));
    const Index by_work = work / (serial_cells / 2);
    return {rows, std::clamp<Index>(std::min({by_memory, by_merge, by_work, rows}), 1, most_slabs)};
}

Slabs slabs_for_rows(Index rows, Index cells_per_row) {
    constexpr Index most_slabs = 256;
    const Index by_work = rows * std::max<Index>(1, cells_per_row) / (serial_cells / 2);
    return {rows, std::clamp<Index>(std::min(by_work, rows), 1, most_slabs)};
}

}  // namespace tilth
