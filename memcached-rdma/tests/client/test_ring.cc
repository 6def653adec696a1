// SPDX-License-Identifier: Apache-2.0
// test_ring.cc - a key goes to the server that libmemcached's ketama sends it to.
#include <dlfcn.h>

#include "server.h"

using namespace client_test;

namespace {

constexpr int KEYS = 100000, KETAMA_WEIGHTED = 16 /* MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED */;

/* Debian's libmemcached, as far as the test needs it. */
struct Libmemcached {
    void *library = dlopen("libmemcached.so.11", RTLD_NOW);
    void *(*create)(void *) = find<void *(*)(void *)>("memcached_create");
    int (*behave)(void *, int, uint64_t) = find<int (*)(void *, int, uint64_t)>("memcached_behavior_set");
    int (*add)(void *, const char *, uint16_t,
               uint32_t) = find<int (*)(void *, const char *, uint16_t, uint32_t)>("memcached_server_add_with_weight");
    uint32_t (*place)(const void *, const char *,
                      size_t) = find<uint32_t (*)(const void *, const char *, size_t)>("memcached_generate_hash");
    void (*destroy)(void *) = find<void (*)(void *)>("memcached_free");

    template <class F> F find(const char *name)
    {
        return reinterpret_cast<F>(library == nullptr ? nullptr : dlsym(library, name));
    }
};

struct Place {
    std::string host;
    uint16_t port;
    uint32_t weight;
};

void compare(const Libmemcached &lib, const std::vector<Place> &places)
{
    std::string config;
    void *theirs = lib.create(nullptr);
    ASSERT_EQ(lib.behave(theirs, KETAMA_WEIGHTED, 1), 0);
    for (auto &place : places) {
        ASSERT_EQ(lib.add(theirs, place.host.c_str(), place.port, place.weight), 0);
        config += (config.empty() ? "" : ",") + place.host + ":" + std::to_string(place.port) + "/?" +
                  std::to_string(place.weight);
    }
    Client ours(config);
    std::vector<int> used(places.size());
    for (int i = 0; i < KEYS; i++) {
        std::string key = "key:" + std::to_string(i * 7919LL) + std::string(static_cast<size_t>(i % 60), 'x');
        int at = vmc_server_of(ours.mc, key.data(), key.size());
        ASSERT_EQ(static_cast<uint32_t>(at), lib.place(theirs, key.data(), key.size())) << key << " of " << config;
        used[static_cast<size_t>(at)]++;
    }
    for (int count : used)
        EXPECT_GT(count, 0) << config;
    lib.destroy(theirs);
}

TEST(Ketama, keys_go_where_libmemcached_sends_them)
{
    Libmemcached lib;
    ASSERT_NE(lib.place, nullptr) << "libmemcached11 is missing: " << dlerror();
    compare(lib, {{"127.0.0.1", 11211, 1}});
    compare(lib, {{"10.0.1.1", 11211, 1}, {"10.0.1.2", 11211, 1}, {"10.0.1.3", 11211, 1}});
    compare(lib, {{"10.0.1.1", 11211, 600},
                  {"10.0.1.2", 11212, 300},
                  {"cache.example.org", 11213, 200},
                  {"10.0.1.4", 11211, 350}});
    std::vector<Place> many;
    for (uint16_t i = 0; i < 40; i++)
        many.push_back({"host" + std::to_string(i), static_cast<uint16_t>(11200 + i), 1u + i % 5});
    compare(lib, many);
}

} // namespace
