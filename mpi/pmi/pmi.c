/* SPDX-License-Identifier: Apache-2.0
 * pmi.c - which launcher started this process; values of any length; the node map.
 */
#include "pmi/pmi.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Launchers whose steps have several tasks and which told us nothing we understand. */
static const struct {
    const char *variable;
    const char *name;
    const char *cure;
} others[] = {
    {"PMIX_NAMESPACE", "a PMIx launcher", "with Slurm start it by srun --mpi=pmi2; else by Verbena's mpiexec"},
    {"PMI_PORT", "a launcher that wants a PMI connection by TCP", "start it by Verbena's mpiexec or by mpiexec.hydra"},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpiexec", "start it by Verbena's mpiexec"},
    {"SLURM_STEP_NUM_TASKS", "Slurm without PMI", "start it by srun --mpi=pmi2"},
};

static int wrong_launcher(pmi_t *pmi)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const char *value = getenv(others[i].variable);
        if (value == NULL || strcmp(value, "1") == 0)
            continue;
        snprintf(pmi->error, sizeof(pmi->error),
                 "this process was started by %s (%s is set),\nwhich does not speak PMI-1 with it: its ranks would be "
                 "singletons;\n%s",
                 others[i].name, others[i].variable, others[i].cure);
        return -1;
    }
    return 0;
}

int pmi_open(pmi_t *pmi)
{
    const char *fd = getenv("PMI_FD");
    memset(pmi, 0, sizeof(*pmi));
    pmi->fd = -1;
    if (fd != NULL)
        return pmi1_open(pmi, atoi(fd));
    if (wrong_launcher(pmi) != 0)
        return -1;
    return pmi_singleton_open(pmi);
}

int pmi_close(pmi_t *pmi)
{
    free(pmi->mapping);
    pmi->mapping = NULL;
    return pmi->ops->close(pmi);
}

int pmi_fence(pmi_t *pmi)
{
    struct pollfd entry = {.fd = pmi->fd, .events = POLLIN};
    int done;
    if (pmi->ops->fence_start(pmi) != 0)
        return -1;
    while ((done = pmi->ops->fence_test(pmi)) == 0)
        (void)poll(&entry, 1, -1);
    return done < 0 ? -1 : 0;
}

/* The text is cut into values KEY-0, KEY-1, ...; the first begins with the length of all and a point. It is put last: who
 * sees it sees all. */
int pmi_put_bytes(pmi_t *pmi, const char *key, const void *bytes, size_t length)
{
    char text[8192];
    char name[64];
    char value[1024];
    const int head = snprintf(text, sizeof(text), "%zu.", (length * 8 + 5) / 6);
    const size_t piece = (pmi->value_max < sizeof(value) ? pmi->value_max : sizeof(value)) - 1;
    if (pmi_encode(text + head, sizeof(text) - (size_t)head, bytes, length) == SIZE_MAX) {
        snprintf(pmi->error, sizeof(pmi->error), "put %s: %zu bytes are too many for the launcher", key, length);
        return -1;
    }
    const size_t total = strlen(text);
    for (size_t i = (total + piece - 1) / piece; i-- > 0;) {
        snprintf(name, sizeof(name), "%s-%zu", key, i);
        snprintf(value, piece + 1, "%s", text + i * piece);
        if (pmi->ops->put(pmi, name, value) != 0)
            return -1;
    }
    return 0;
}

int pmi_get_bytes(pmi_t *pmi, const char *key, void *bytes, size_t *length_p)
{
    char text[8192] = "";
    char name[64];
    size_t used = 0;
    size_t wanted = 0;
    for (size_t i = 0; i == 0 || used < wanted; i++) {
        snprintf(name, sizeof(name), "%s-%zu", key, i);
        if (pmi->ops->get(pmi, name, text + used, sizeof(text) - used) != 0)
            return -1;
        const size_t before = used;
        used += strlen(text + used);
        const char *point = strchr(text, '.');
        wanted = point == NULL ? SIZE_MAX : (size_t)(point + 1 - text) + strtoul(text, NULL, 10);
        if (used == before || wanted >= sizeof(text))
            break;
    }
    const char *point = strchr(text, '.');
    const size_t length = point == NULL || used != wanted ? SIZE_MAX : pmi_decode(bytes, *length_p, point + 1);
    if (length == SIZE_MAX) {
        snprintf(pmi->error, sizeof(pmi->error), "get %s: the launcher's value differs from the one that was put", key);
        return -1;
    }
    *length_p = length;
    return 0;
}

/* "(vector,(first_node,nodes,ranks_per_node),...)": ranks fill the blocks in order, the vector repeats. */
typedef struct block {
    int64_t start; /* ranks of the vector before it */
    int64_t count; /* its ranks */
    int first;
    int nodes;
    int each;
} block_t;

/* The next block of the text; 1: there is one, 0: there is none, -1: it is malformed. */
static int next_block(const char **text_p, block_t *block)
{
    const char *text = strchr(*text_p, '(');
    block->start += block->count;
    if (text == NULL)
        return 0;
    if (sscanf(text, "(%d,%d,%d)", &block->first, &block->nodes, &block->each) != 3 || block->nodes < 1 ||
        block->each < 1)
        return -1;
    block->count = (int64_t)block->nodes * block->each;
    *text_p = text + 1;
    return 1;
}

/* Of the vector's blocks; -1: the value is malformed. */
static int64_t ranks_of(const char *blocks)
{
    block_t block = {0};
    int found;
    while ((found = next_block(&blocks, &block)) > 0)
        ;
    return found == 0 && block.start > 0 ? block.start : -1;
}

/* NULL: the value is malformed. */
static const char *blocks_of(const char *mapping)
{
    const char *start = strstr(mapping, "(vector");
    return start == NULL ? NULL : start + 1;
}

int pmi_mapping_node(const char *mapping, int rank, int size)
{
    const char *blocks = blocks_of(mapping);
    const int64_t ranks = blocks == NULL ? -1 : ranks_of(blocks);
    block_t block = {0};
    if (ranks < 0 || rank >= size)
        return -1;
    while (next_block(&blocks, &block) > 0)
        if (rank % ranks < block.start + block.count)
            return block.first + (int)((rank % ranks - block.start) / block.each);
    return -1;
}

/* How many of the first `most` ranks of the vector are of this node and block. */
static int64_t count_in(const block_t *block, int node, int64_t most)
{
    const int64_t before = block->start + (int64_t)(node - block->first) * block->each;
    if (node < block->first || node - block->first >= block->nodes || most <= before)
        return 0;
    return most - before < block->each ? most - before : block->each;
}

int pmi_mapping_local(const char *mapping, int rank, int size)
{
    const int node = pmi_mapping_node(mapping, rank, size);
    const char *blocks = blocks_of(mapping);
    const int64_t ranks = node < 0 ? -1 : ranks_of(blocks);
    block_t block = {0};
    int64_t count = 0;
    while (ranks > 0 && next_block(&blocks, &block) > 0)
        count += size / ranks * count_in(&block, node, ranks) + count_in(&block, node, size % ranks);
    return (int)count;
}

int pmi_node(const pmi_t *pmi, int rank)
{
    return pmi->mapping == NULL ? -1 : pmi_mapping_node(pmi->mapping, rank, pmi->size);
}
