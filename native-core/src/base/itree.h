/* SPDX-License-Identifier: Apache-2.0
 * itree.h - intrusive interval tree: half-open ranges [start, end) of addresses, found by what they overlap. An AVL
 * tree ordered by start, then end, then the node's address, in which each node knows the largest end below it; equal
 * and overlapping ranges may be in it together. No locking, no allocation; insert, remove and find are O(log n). */
#ifndef VBN_BASE_ITREE_H
#define VBN_BASE_ITREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in its element. start < end; both stay put while the node is in a tree. */
typedef struct itree_node {
    struct itree_node *left;
    struct itree_node *right;
    uintptr_t start;
    uintptr_t end;     /* the byte after the last one */
    uintptr_t max_end; /* of this node and all below it */
    int height;        /* 1 = leaf */
} itree_node_t;

typedef struct itree {
    itree_node_t *root;
    size_t count;
} itree_t;

void itree_init(itree_t *tree);
void itree_insert(itree_t *tree, itree_node_t *node, uintptr_t start, uintptr_t end);
/* The node must be in the tree. */
void itree_remove(itree_t *tree, itree_node_t *node);
/* The first node, in the tree's order, that overlaps [start, end) and comes after `after` (NULL: the first of all);
 * NULL when there is none. Touching ranges do not overlap. */
itree_node_t *itree_overlap(const itree_t *tree, uintptr_t start, uintptr_t end, const itree_node_t *after);
/* True when order, balance, heights and largest ends are right: for tests and debug builds, O(n). */
bool itree_valid(const itree_t *tree);

#endif
