/* SPDX-License-Identifier: Apache-2.0
 * mapping.c - the node map: which ranks share a node.
 */
#include "pmi/pmi.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
