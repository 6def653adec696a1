/* SPDX-License-Identifier: Apache-2.0
 * native.h - two workers whose devices carry out one's gets and puts on memory of the other: what the tests of that share. */
#ifndef VBN_TESTS_VERBS_NATIVE_H
#define VBN_TESTS_VERBS_NATIVE_H

#include "checks.h"

namespace verbs {

constexpr size_t MEMORY = 4 << 20;
constexpr size_t LARGE = 1 << 20; /* worth a connection for devices, whatever the cost model says */

inline uint8_t pattern(size_t i, unsigned round)
{
    return static_cast<uint8_t>(i * 31 + (i >> 11) + round * 7);
}

/* b owns memory, a has a key of it. */
class Native {
public:
    multi::Pair pair;
    vbn_mem_t *memory = nullptr, *local = nullptr;
    vbn_key_t *key = nullptr;

    explicit Native(const char *transports, unsigned access = VBN_ACCESS_READ | VBN_ACCESS_WRITE) : pair(transports)
    {
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        MUST(vbn_mem_alloc(pair.b.context, MEMORY, VBN_BACKING_MEMFD, nullptr, &memory) == VBN_OK);
        MUST(vbn_mem_alloc(pair.a.context, MEMORY, VBN_BACKING_MEMFD, nullptr, &local) == VBN_OK);
        key = import_key(memory, 0, MEMORY, access);
    }
    vbn_key_t *import_key(vbn_mem_t *mem, size_t offset, size_t length, unsigned access)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t bytes = sizeof(blob);
        vbn_key_t *imported = nullptr;
        MUST(vbn_key_export(mem, offset, length, access, blob, &bytes) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, bytes, &imported) == VBN_OK);
        return imported;
    }
    uint8_t *theirs() { return static_cast<uint8_t *>(vbn_mem_address(memory)); }
    uint8_t *ours() { return static_cast<uint8_t *>(vbn_mem_address(local)); }
    uint64_t counted(const char *name) { return verbs::counted(pair.a, name); }

    vbn_status_t get(void *to, size_t offset, size_t length, vbn_key_t *from = nullptr)
    {
        iovec iov{to, length};
        vbn_op_t op{};
        return pair.finish(vbn_get(from != nullptr ? from : key, offset, &iov, 1, &op), op);
    }
    vbn_status_t put(void *data, size_t offset, size_t length, vbn_key_t *to = nullptr)
    {
        iovec iov{data, length};
        vbn_op_t op{};
        return pair.finish(vbn_put(to != nullptr ? to : key, offset, &iov, 1, &op), op);
    }
    /* Gets until devices do it; `size` of less than LARGE is none that earns a connection for that. */
    void warm(vbn_key_t *with = nullptr, size_t size = LARGE)
    {
        uint64_t before = counted("get.native.bytes");
        MUST(pair.until([&] {
            MUST(get(ours(), 0, size, with) == VBN_OK);
            return counted("get.native.bytes") > before;
        }));
        rest();
    }
    /* Acknowledgements that are owed. */
    void rest()
    {
        for (unsigned i = 0; i < 3000; i++)
            pair.turn();
    }
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(memory) == VBN_OK && vbn_mem_free(local) == VBN_OK);
        pair.close();
    }
};

/* A connection that breaks must not be the peer's end, or nothing is left to devices. */
inline void may_break()
{
    setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1);
}

} // namespace verbs
#endif
