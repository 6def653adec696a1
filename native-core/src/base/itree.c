/* SPDX-License-Identifier: Apache-2.0
 * itree.c - AVL tree of intervals. Functions that change a subtree return its new root; the recursion is as deep as the
 * tree, at most 1.44 log2(n). */
#include "base/itree.h"

#include <assert.h>

void itree_init(itree_t *tree)
{
    *tree = (itree_t){0};
}

static int height(const itree_node_t *node)
{
    return node == NULL ? 0 : node->height;
}

static uintptr_t max_end(const itree_node_t *node)
{
    return node == NULL ? 0 : node->max_end;
}

/* Less than 0 when a comes before b. */
static int order(const itree_node_t *a, const itree_node_t *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a == b ? 0 : (uintptr_t)a < (uintptr_t)b ? -1 : 1;
}

static void refresh(itree_node_t *node)
{
    int left = height(node->left);
    int right = height(node->right);
    node->height = 1 + (left > right ? left : right);
    node->max_end = node->end;
    if (max_end(node->left) > node->max_end)
        node->max_end = max_end(node->left);
    if (max_end(node->right) > node->max_end)
        node->max_end = max_end(node->right);
}

static itree_node_t *rotate_right(itree_node_t *node)
{
    itree_node_t *top = node->left;
    node->left = top->right;
    top->right = node;
    refresh(node);
    refresh(top);
    return top;
}

static itree_node_t *rotate_left(itree_node_t *node)
{
    itree_node_t *top = node->right;
    node->right = top->left;
    top->left = node;
    refresh(node);
    refresh(top);
    return top;
}

/* Both sides of node are balanced and differ by at most two levels. */
static itree_node_t *balance(itree_node_t *node)
{
    int lean = height(node->left) - height(node->right);
    if (lean > 1) {
        if (height(node->left->left) < height(node->left->right))
            node->left = rotate_left(node->left);
        return rotate_right(node);
    }
    if (lean < -1) {
        if (height(node->right->right) < height(node->right->left))
            node->right = rotate_right(node->right);
        return rotate_left(node);
    }
    refresh(node);
    return node;
}

static itree_node_t *insert(itree_node_t *root, itree_node_t *node)
{
    if (root == NULL)
        return node;
    if (order(node, root) < 0)
        root->left = insert(root->left, node);
    else
        root->right = insert(root->right, node);
    return balance(root);
}

void itree_insert(itree_t *tree, itree_node_t *node, uintptr_t start, uintptr_t end)
{
    assert(start < end);
    *node = (itree_node_t){.start = start, .end = end, .max_end = end, .height = 1};
    tree->root = insert(tree->root, node);
    tree->count++;
}

/* Takes the leftmost node off. */
static itree_node_t *remove_first(itree_node_t *root, itree_node_t **first_p)
{
    if (root->left == NULL) {
        *first_p = root;
        return root->right;
    }
    root->left = remove_first(root->left, first_p);
    return balance(root);
}

static itree_node_t *remove_node(itree_node_t *root, itree_node_t *node)
{
    assert(root != NULL); /* else the node was not in the tree */
    int side = order(node, root);
    if (side < 0) {
        root->left = remove_node(root->left, node);
    } else if (side > 0) {
        root->right = remove_node(root->right, node);
    } else if (root->right == NULL) {
        return root->left;
    } else {
        itree_node_t *next;
        itree_node_t *right = remove_first(root->right, &next);
        next->left = root->left;
        next->right = right;
        root = next;
    }
    return balance(root);
}

void itree_remove(itree_t *tree, itree_node_t *node)
{
    tree->root = remove_node(tree->root, node);
    tree->count--;
}

static itree_node_t *overlap(itree_node_t *root, uintptr_t start, uintptr_t end, const itree_node_t *after)
{
    while (root != NULL && root->max_end > start) {
        if (after == NULL || order(root, after) > 0) {
            itree_node_t *found = overlap(root->left, start, end, after);
            if (found != NULL || root->start >= end)
                return found; /* all to the right start later still */
            if (root->end > start)
                return root;
        }
        root = root->right;
    }
    return NULL;
}

itree_node_t *itree_overlap(const itree_t *tree, uintptr_t start, uintptr_t end, const itree_node_t *after)
{
    return overlap(tree->root, start, end, after);
}

static bool valid(const itree_node_t *node, const itree_node_t *low, const itree_node_t *high, size_t *count_p)
{
    if (node == NULL)
        return true;
    itree_node_t copy = *node;
    refresh(&copy);
    int lean = height(node->left) - height(node->right);
    (*count_p)++;
    return node->start < node->end && copy.height == node->height && copy.max_end == node->max_end && lean >= -1 &&
           lean <= 1 && (low == NULL || order(low, node) < 0) && (high == NULL || order(node, high) < 0) &&
           valid(node->left, low, node, count_p) && valid(node->right, node, high, count_p);
}

bool itree_valid(const itree_t *tree)
{
    size_t count = 0;
    return valid(tree->root, NULL, NULL, &count) && count == tree->count;
}
