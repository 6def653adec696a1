// SPDX-License-Identifier: Apache-2.0
// test_no_lock.cc - what a packet to memory of the user's own costs its owner: no lock and no ioctl (userfaultfd).
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include <cstdarg>

#include "pair.h"

#if defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if !defined(SANITIZED)                     /* which has a pthread_mutex_lock of its own */
static thread_local uint64_t locks, ioctls; /* of this thread: the one that reads about changed mappings has its own */

extern "C" int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static auto next = reinterpret_cast<int (*)(pthread_mutex_t *)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    locks++;
    return next(mutex);
}

extern "C" int ioctl(int fd, unsigned long request, ...)
{
    static auto next = reinterpret_cast<int (*)(int, unsigned long, void *)>(dlsym(RTLD_NEXT, "ioctl"));
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    ioctls++;
    return next(fd, request, argument);
}

namespace {

using multi::Pair;

constexpr size_t BYTES = 1 << 20;

struct Work {
    Pair pair;
    std::vector<uint8_t> users, data;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;

    explicit Work(const char *transports) : pair(transports), users(BYTES), data(BYTES, 3)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(pair.a.connect(pair.b) == VBN_OK);
        MUST(vbn_mem_register(pair.b.context, users.data(), BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
    }
    void wait(vbn_status_t status, const vbn_op_t &op) { MUST(pair.finish(status, op) == VBN_OK); }
    void all()
    {
        vbn_op_t op{};
        uint64_t before;
        for (size_t size : {size_t{8}, size_t{300}, size_t{4000}, size_t{20000}, BYTES}) {
            iovec iov{data.data(), size};
            wait(vbn_put(key, 0, &iov, 1, &op), op);
        }
        for (size_t size : {8, 300, 4000}) { /* larger answers have a lease, which locks the memory */
            iovec iov{data.data(), size};
            wait(vbn_get(key, 0, &iov, 1, &op), op);
        }
        const vbn_strided_t blocks{data.data(), 24, 50, 40, 64};
        wait(vbn_put_strided(key, 0, &blocks, &op), op);
        wait(vbn_get_strided(key, 0, &blocks, &op), op);
        wait(vbn_atomic(key, 64, VBN_ATOMIC_ADD, 8, 1, 0, &before, &op), op);
        const vbn_signal_t signal{key, 128, VBN_ATOMIC_ADD, 1};
        iovec iov{data.data(), 100};
        wait(vbn_put_signal(key, 0, &iov, 1, &signal, &op), op);
    }
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    }
};

class NoLock : public ::testing::TestWithParam<const char *> {};

TEST_P(NoLock, packets_to_registered_memory_take_no_lock_and_no_ioctl)
{
    std::vector<int> codes = multi::launch(1, [](int, multi::Shared &) {
        Work work(GetParam());
        work.all(); /* connects; keys become known, pools grow */
        MUST(locks > 0);
        locks = ioctls = 0;
        for (unsigned i = 0; i < 20; i++)
            work.all();
        std::fprintf(stderr, "%llu locks, %llu ioctls\n", static_cast<unsigned long long>(locks),
                     static_cast<unsigned long long>(ioctls));
        MUST(locks == 0 && ioctls == 0);
        work.close();
    });
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, NoLock, ::testing::Values("shm", "tcp"),
                         [](const auto &test) { return multi::way_name(test.param); });

} // namespace
#endif
