// SPDX-License-Identifier: Apache-2.0
// test_places.cc - memory that devices work on in place: the user's own (vbn_mem_register), while it is registered, while it
// changes, and memory that is freed while requests name it.
#include "native.h"

#include <sys/mman.h>

using verbs::Native;
using verbs::pattern;
using verbs::with_fabric;

namespace {

constexpr size_t BYTES = 1 << 20;

/* Pages of the test's own, registered with a's context. */
struct Own {
    Native &n;
    uint8_t *data;
    vbn_mem_t *mem = nullptr;
    explicit Own(Native &n_) : n(n_)
    {
        data = static_cast<uint8_t *>(mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        MUST(data != MAP_FAILED);
        enter();
    }
    void enter()
    {
        MUST(vbn_mem_register(n.pair.a.context, data, BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
    }
    void free()
    {
        MUST(vbn_mem_free(mem) == VBN_OK);
        mem = nullptr;
    }
    void fill(unsigned round)
    {
        for (size_t i = 0; i < BYTES; i++)
            data[i] = pattern(i, round);
    }
    /* Bytes copied by a put of it; checked at the owner. */
    uint64_t put(unsigned round)
    {
        fill(round);
        uint64_t before = n.counted("verbs.copied_bytes");
        MUST(n.put(data, 0, BYTES) == VBN_OK && std::memcmp(n.theirs(), data, BYTES) == 0);
        return n.counted("verbs.copied_bytes") - before;
    }
    uint64_t get(unsigned round)
    {
        for (size_t i = 0; i < BYTES; i++)
            n.theirs()[i] = pattern(i, round);
        uint64_t before = n.counted("verbs.copied_bytes");
        MUST(n.get(data, 0, BYTES) == VBN_OK && std::memcmp(n.theirs(), data, BYTES) == 0);
        return n.counted("verbs.copied_bytes") - before;
    }
    void close()
    {
        if (mem != nullptr)
            free();
        MUST(munmap(data, BYTES) == 0);
    }
};

class VerbsPlaces : public ::testing::TestWithParam<bool> {}; /* by devices, or packets */

void way(bool devices)
{
    setenv(devices ? "VBN_LINK_RESUME_TIMEOUT" : "VBN_LINK_PROMOTED_MAX", devices ? "10s" : "1", 1);
}

void ready(Native &n, bool devices)
{
    if (devices)
        n.warm();
}

TEST_P(VerbsPlaces, the_users_memory_is_used_in_place_as_long_as_it_is_registered)
{
    int code = with_fabric(1, [] {
        way(GetParam());
        Native n("rc");
        ready(n, GetParam());
        Own own(n);
        own.free();
        MUST(own.put(0) >= BYTES); /* the core's buffers have grown to what it needs */
        own.enter();
        MUST(own.put(1) < 1024); /* what the words of the protocol take */
        uint64_t registered = fabric_counts.mrs;
        MUST(own.put(2) < 1024 && fabric_counts.mrs == registered); /* once */
        if (GetParam()) {
            fabric_counts_t before = fabric_counts;
            MUST(own.get(3) < 1024);
            MUST(fabric_counts.reads - before.reads == 1); /* not a piece at a time */
        }
        own.free();
        n.rest();
        MUST(fabric_counts.mrs == registered - 1);
        MUST(own.put(4) >= BYTES);
        own.enter();
        MUST(own.put(5) < 1024);
        own.close();
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST_P(VerbsPlaces, the_users_memory_that_has_changed_since_is_copied)
{
    int code = with_fabric(1, [] {
        way(GetParam());
        Native n("rc");
        ready(n, GetParam());
        Own own(n);
        MUST(own.put(1) < 1024);
        MUST(mmap(own.data, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == own.data);
        MUST(vbn_mem_invalidate(n.pair.a.context, own.data, BYTES) == VBN_OK); /* where the kernel cannot be asked */
        MUST(own.put(2) >= BYTES);
        vbn_mem_t *before = own.mem;
        own.enter(); /* again, the old one is still there */
        MUST(own.put(3) < 1024);
        MUST(vbn_mem_free(before) == VBN_OK);
        MUST(own.put(4) < 1024);
        own.close();
        n.close();
    });
    ASSERT_EQ(code, 0);
}

/* Frees the memory while the device has not said that it is done with it; the last round is checked. */
void free_early(Own &own, bool last)
{
    Native &n = own.n;
    MUST(own.put(1) < 1024);
    n.rest();
    uint64_t registered = fabric_counts.mrs;
    own.fill(2);
    iovec iov{own.data, BYTES};
    vbn_op_t op{};
    MUST(vbn_put(n.key, 0, &iov, 1, &op) == VBN_INPROGRESS);
    fabric_script.late_ppm = 1000000; /* completions are kept back */
    own.free();
    for (unsigned i = 0; i < 5000; i++)
        (void)vbn_progress(n.pair.a.worker);
    MUST(op.complete == 0 && (!last || fabric_counts.mrs == registered));
    fabric_script.late_ppm = 0;
    MUST(n.pair.until([&] { return op.complete == 1; }) && op.status == VBN_OK);
    MUST(std::memcmp(n.theirs(), own.data, BYTES) == 0);
    n.rest();
    MUST(!last || fabric_counts.mrs == registered - 1);
}

TEST_P(VerbsPlaces, memory_freed_while_a_request_names_it_stays_registered_until_that_is_done)
{
    int code = with_fabric(1, [] {
        way(GetParam());
        Native n("rc");
        ready(n, GetParam());
        Own own(n);
        for (unsigned round = 0; round < 3; round++) {
            free_early(own, round == 2); /* before, the core's own buffers may grow */
            own.enter();
        }
        MUST(n.pair.a.lost == VBN_OK && n.counted("link.lanes_lost") + n.counted("link.resumes") == 0);
        own.close();
        n.close();
    });
    ASSERT_EQ(code, 0);
}

TEST(VerbsPlacesRefused, a_registration_that_fails_costs_the_copy_only_and_not_that_of_other_memory)
{
    int code = with_fabric(1, [] {
        way(true);
        Native n("rc");
        n.warm();
        MUST(n.put(n.ours(), 0, BYTES) == VBN_OK);
        Own own(n);
        fabric_script.fail_register_at = 1;
        MUST(own.put(1) < 1024); /* the second try, without the right to write, works */
        MUST(own.get(2) >= BYTES);
        uint64_t before = n.counted("verbs.copied_bytes");
        MUST(n.get(n.ours(), 0, BYTES) == VBN_OK && n.counted("verbs.copied_bytes") == before);
        own.close();
        n.close();
    });
    ASSERT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(By, VerbsPlaces, ::testing::Values(true, false),
                         [](const auto &each) { return each.param ? "devices" : "packets"; });

} // namespace
