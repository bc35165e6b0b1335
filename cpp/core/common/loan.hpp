// Large arrays that are not initialised, on memory that a caller may keep from call to call: pages fresh from the system
// must be zeroed by it, which a loop of a hundred calls would pay a hundred times.
#pragma once

#include <cstddef>
#include <memory>

#include "common/view.hpp"

namespace tilth {

// Memory lent out piece by piece.
class Loan {
public:
    Loan() = default;
    Loan(std::byte* memory, std::size_t size) : at_(memory), left_(size) {}

    // Room for n items, or nullptr when too little is left.
    template <class T>
    T* take(Index n) {
        void* start = at_;
        const std::size_t size = sizeof(T) * static_cast<std::size_t>(n);
        if (!at_ || !std::align(64, size, start, left_)) return nullptr;
        at_ = static_cast<std::byte*>(start) + size;
        left_ -= size;
        return static_cast<T*>(start);
    }

private:
    std::byte* at_ = nullptr;
    std::size_t left_ = 0;
};

// An array on lent memory when there is enough of it, else on its own.
template <class T>
class Lent {
public:
    void take(Index n, Loan* loan) {
        data_ = loan ? loan->take<T>(n) : nullptr;
        if (!data_) own_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(n)), data_ = own_.get();
    }
    void use(T* given) { data_ = given; }  // memory of somebody else, for as long as the array lives
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](Index i) { return data_[i]; }
    T operator[](Index i) const { return data_[i]; }

private:
    std::unique_ptr<T[]> own_;
    T* data_ = nullptr;
};

}  // namespace tilth
