/* SPDX-License-Identifier: Apache-2.0
 * node.c - reserving and joining node memory (node.h).
 */
#include "rt/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rt/host.h"
#include "rt/rt.h"

#define SHIFT_LEAST 20         /* parts of 1 MiB */
#define ADDRESSES (1ull << 45) /* for all parts: a quarter of what a process has */

rt_node_t rt_node;

/* What the first rank puts. */
typedef struct notice {
    uint32_t shift; /* 0: there is no node memory */
    uint32_t key_length;
    unsigned char key[VBN_KEY_MAX];
} notice_t;

static int first_rank(void)
{
    int rank = 0;
    while (rank < rt.rank && pmi_node(&rt.pmi, rank) != rt.pmi.node)
        rank++;
    return rank;
}

static int is_wanted(void)
{
    char enabled[256];
    int64_t chosen = 1;
    (void)vbn_setting(rt.context, "mpi.node_memory", NULL, 0, &chosen);
    return chosen && rt.pmi.local_size > 1 && rt.pmi.mapping != NULL &&
           vbn_setting(rt.context, "tl.enable", enabled, sizeof(enabled), NULL) == VBN_OK &&
           strstr(enabled, "shm") != NULL;
}

static size_t total_bytes(unsigned shift)
{
    return (size_t)rt.pmi.local_size * (RT_NODE_CONTROL + ((size_t)1 << shift));
}

/* Each use of a part can be as large as the host's memory, less where addresses are scarce. */
static unsigned first_shift(void)
{
    const uint64_t wanted = 4 * (rt_host_bytes() + RT_NODE_PIECES);
    const uint64_t most = rt_most_addresses() / 4 < ADDRESSES ? rt_most_addresses() / 4 : ADDRESSES;
    unsigned shift = SHIFT_LEAST;
    while (((uint64_t)1 << shift) < wanted && total_bytes(shift + 1) <= most)
        shift++;
    return shift;
}

static int place(unsigned shift)
{
    const size_t part = (size_t)1 << shift;
    rt_node.base = vbn_mem_address(rt_node.mem);
    rt_node.parts = rt_node.base + (size_t)rt.pmi.local_size * RT_NODE_CONTROL;
    rt_node.shift = shift;
    rt_node.count = rt.pmi.local_size;
    rt_node.ranks = calloc((size_t)rt_node.count, sizeof(*rt_node.ranks));
    if (rt_node.ranks == NULL)
        return rt_fail("no memory left for a table of %d ranks", rt_node.count);
    for (int rank = 0, i = 0; rank < rt.size && i < rt_node.count; rank++) {
        if (pmi_node(&rt.pmi, rank) != rt.pmi.node)
            continue;
        if (rank == rt.rank)
            rt_node.index = i;
        rt_node.ranks[i++] = rank;
    }
    rt_node_sleeper_fence(); /* is there one? */
    (void)madvise(rt_node.base, total_bytes(shift), MADV_DONTDUMP);
    (void)madvise(rt_node.parts + (size_t)rt_node.index * part, part, MADV_DODUMP);
    return 0;
}

static int reserve(notice_t *notice)
{
    unsigned shift = first_shift();
    size_t length = sizeof(notice->key);
    while (vbn_mem_reserve(rt.context, total_bytes(shift), &rt_node.mem) != VBN_OK)
        if (--shift < SHIFT_LEAST)
            return rt_fail("%zu bytes of addresses: %s%s", total_bytes(SHIFT_LEAST), vbn_error_text(),
                           rt_most_addresses() == UINT64_MAX ? "" : "; raise ulimit -v");
    if (vbn_key_export(rt_node.mem, 0, RT_NODE_CONTROL, VBN_ACCESS_READ | VBN_ACCESS_WRITE, notice->key, &length) !=
        VBN_OK)
        return rt_fail("%s", vbn_error_text());
    notice->key_length = (uint32_t)length;
    notice->shift = shift;
    return place(shift);
}

/* The host, or its container, does not allow it, and nothing needs it. */
static void go_without(notice_t *notice)
{
    rt_say("rank %d of %d: no node memory: %s. Collectives of this node go by messages", rt.rank, rt.size, rt.error);
    rt_node_close();
    *notice = (notice_t){0};
}

int rt_node_publish(void)
{
    notice_t notice = {0};
    char key[32];
    rt_node = (rt_node_t){0};
    if (rt.pmi.local_size < 2 || rt.pmi.mapping == NULL)
        rt_node.state = RT_NODE_NONE;
    if (rt_node.state == RT_NODE_NONE || first_rank() != rt.rank)
        return 0;
    if (is_wanted() && reserve(&notice) != 0)
        go_without(&notice);
    rt_node.state = notice.shift > 0 ? RT_NODE_READY : RT_NODE_NONE;
    rt_key_name(key, sizeof(key), "vbn-m", rt.rank);
    if (pmi_put_bytes(&rt.pmi, key, &notice, offsetof(notice_t, key) + notice.key_length) != 0)
        return rt_fail("node memory: %s", rt.pmi.error);
    return 0;
}

static int cannot_join(int first, const char *cause)
{
    return rt_fail(
        "node memory of rank %d, which the launcher says is on this node, cannot be joined: %s; containers of one "
        "node need a common tl.shm.socket_dir (VBN_TL_SHM_SOCKET_DIR), shm in tl.enable and the same ulimit -v, or a "
        "launcher that counts them as nodes",
        first, cause);
}

static int join(int first, const notice_t *notice)
{
    vbn_peer_t *peer = rt_peer(first);
    vbn_key_t *key;
    vbn_op_t op = {0};
    rt_wait_t wait = RT_WAIT;
    wait.op = &op;
    if (peer == NULL)
        return -1;
    vbn_status_t status = vbn_key_import_op(peer, notice->key, notice->key_length, &key, &op);
    if (status < 0)
        return cannot_join(first, vbn_error_text());
    while (status == VBN_INPROGRESS && op.complete == 0)
        rt_wait_step(&wait);
    if (status == VBN_INPROGRESS)
        status = (vbn_status_t)op.status;
    const int is_mapped = op.length > 0;
    if (status == VBN_OK && is_mapped)
        status = vbn_mem_join(key, &rt_node.mem);
    char cause[512];
    snprintf(cause, sizeof(cause), "%s",
             status == VBN_OK ? "it is not mapped here, a line above says why" : vbn_error_text());
    vbn_key_release(key);
    if (status != VBN_OK || !is_mapped)
        return cannot_join(first, cause);
    return place(notice->shift) == 0 ? 0 : cannot_join(first, "no memory left for its table");
}

static int ask_and_join(void)
{
    const int first = first_rank();
    notice_t notice = {0};
    size_t length = sizeof(notice);
    char key[32];
    rt_key_name(key, sizeof(key), "vbn-m", first);
    if (pmi_get_bytes(&rt.pmi, key, &notice, &length) != 0)
        return rt_fail("node memory of rank %d: %s", first, rt.pmi.error);
    if (notice.shift == 0)
        return 0;
    if (length < offsetof(notice_t, key) || notice.key_length != length - offsetof(notice_t, key) ||
        notice.shift < SHIFT_LEAST || notice.shift > 46)
        return rt_fail("node memory of rank %d: its notice is malformed: start all ranks with one version", first);
    return join(first, &notice) == 0 ? 1 : -1;
}

int rt_node_open(void)
{
    rt_wait_t wait = RT_WAIT;
    wait.look_ms = 1;
    while (rt_node.state == RT_NODE_OPENING)
        rt_wait_step(&wait);
    if (rt_node.state != RT_NODE_UNKNOWN)
        return rt_node.state == RT_NODE_READY;
    rt_node.state = RT_NODE_OPENING;
    const int found = ask_and_join();
    rt_node.state = found > 0 ? RT_NODE_READY : found == 0 ? RT_NODE_NONE : RT_NODE_UNKNOWN;
    return found;
}

void rt_node_close(void)
{
    if (rt_node.mem != NULL)
        (void)vbn_mem_free(rt_node.mem);
    free(rt_node.ranks);
    rt_node = (rt_node_t){0};
}

int rt_node_index(int rank)
{
    int low = 0;
    int high = rt_node.count - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (rt_node.ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low == high && rt_node.ranks[low] == rank ? low : -1;
}

int rt_node_commit(const void *at, size_t length)
{
    const size_t offset = (size_t)((const unsigned char *)at - rt_node.base);
    return vbn_mem_commit(rt_node.mem, offset, length) == VBN_OK ? 0 : rt_fail("node memory: %s", vbn_error_text());
}
