/* SPDX-License-Identifier: Apache-2.0
 * halving.c - reduce_scatter of short parts in about log2 rounds: members halve their data in each round (parts.h, J1). First
 * the ranks of a node are the members, and their columns the data; then the nodes, each by one rank, and the parts of a column.
 *
 * As many as the powers of two in the number of members are groups: of 7 those of 4, 2 and 1. A group halves by itself, nearest
 * partners first, so that neighbours are combined before others; a member ends with all whose numbers are its own one modulo the
 * size of its group. They lie side by side in the order where these are ranges: that of the numbers with their bits reversed. Then
 * the last group scatters its ranges to the members of the group before it, which put them behind their own, and so on. In the
 * first group each has what is its own, and may have that of a member behind the group, to which it sends it.
 */
#include "grp/parts.h"

/* Numbers of the members: base to base + size, a power of two. */
typedef struct group {
    int base;
    int size;
} group_t;

#define NEAR (-1)

typedef struct halving {
    const parts_t *parts;
    const columns_t *columns;
    sched_t *sched;
    int column;        /* of this rank, and nodes are the members; NEAR: the ranks of this node are */
    int members;       /* how many */
    int number;        /* of this one */
    parts_list_t list; /* members' parts */
    const int *at;     /* by place of the order with reversed bits: the first place in the list; then all */
    int power;         /* size of the first group */
    group_t group;     /* of this member */
    int low, high;     /* places that it has */
    char *mine;
    char *other;
} halving_t;

static int power_below(int number)
{
    int power = 1;
    while (power <= number / 2)
        power *= 2;
    return power;
}

static int reversed(int number, int size)
{
    int result = 0;
    for (int bit = 1; bit < size; bit *= 2)
        result = result * 2 + ((number & bit) != 0);
    return result;
}

static group_t group_behind(group_t group, int members)
{
    const int base = group.base + group.size;
    return (group_t){base, base < members ? power_below(members - base) : 0};
}

/* The group of this member; before_p: the one before it, of no members where there is none. */
static group_t group_of(const halving_t *halving, group_t *before_p)
{
    group_t group = {0, halving->power};
    *before_p = (group_t){0, 0};
    while (halving->number >= group.base + group.size) {
        *before_p = group;
        group = group_behind(group, halving->members);
    }
    return group;
}

static int rank_of(const halving_t *halving, int member)
{
    const parts_t *parts = halving->parts;
    return halving->column == NEAR ? parts_rank(parts, parts->node, member)
                                   : columns_rank(parts, halving->column, member);
}

/* The first place of a member's parts in the list of columns. */
static int first_of(const halving_t *halving, int member)
{
    return halving->column == NEAR ? halving->columns->firsts[member]
                                   : columns_first(halving->parts, halving->columns, halving->column, member);
}

static int places_of(const halving_t *halving, int member)
{
    return first_of(halving, member + 1) - first_of(halving, member);
}

static int list_member(const halving_t *halving, int member, int place)
{
    for (int i = 0; i < places_of(halving, member); i++)
        halving->list.ranks[place++] = halving->columns->list.ranks[first_of(halving, member) + i];
    return place;
}

static int open(halving_t *halving, const parts_t *parts, const columns_t *columns, int column)
{
    int place = 0;
    *halving = (halving_t){.parts = parts, .columns = columns, .sched = parts->sched, .column = column};
    halving->members = column == NEAR ? parts->near : parts->nodes;
    halving->number = column == NEAR ? parts->own : parts->node;
    halving->power = halving->high = power_below(halving->members);
    int *at = sched_memory(parts->sched, ((size_t)halving->power + 1) * sizeof(int));
    if (at == NULL ||
        !parts_list_open(parts, &halving->list, first_of(halving, halving->members) - first_of(halving, 0)))
        return 0;
    for (int i = 0; i < halving->power; i++) {
        const int member = reversed(i, halving->power);
        at[i] = place;
        place = list_member(halving, member, place);
        if (member + halving->power < halving->members)
            place = list_member(halving, member + halving->power, place);
    }
    at[halving->power] = place;
    parts_list_end(&halving->list, place);
    halving->at = at;
    halving->mine = sched_memory(parts->sched, parts_bytes(&halving->list, 0, place));
    halving->other = sched_memory(parts->sched, parts_bytes(&halving->list, 0, place));
    return halving->other != NULL;
}

/* Bytes before a place; those of [low, high). */
static size_t offset(const halving_t *halving, int place)
{
    return halving->list.starts[halving->at[place]];
}

static size_t bytes(const halving_t *halving, int low, int high)
{
    return offset(halving, high) - offset(halving, low);
}

static void give(const halving_t *halving, int member, const char *from, int low, int high)
{
    sched_send(halving->sched, rank_of(halving, member), from + offset(halving, low), bytes(halving, low, high));
}

static void take(const halving_t *halving, int member, int low, int high)
{
    sched_recv(halving->sched, rank_of(halving, member), halving->other + offset(halving, low),
               bytes(halving, low, high));
}

/* What is in `other` at the places that this rank has. */
static void combine(halving_t *halving, int other_is_lower)
{
    const parts_piece_t piece = parts_piece(halving->sched, &halving->list, halving->at[halving->low],
                                            halving->at[halving->high]);
    char *lower = (other_is_lower ? halving->other : halving->mine) + offset(halving, halving->low);
    char *upper = (other_is_lower ? halving->mine : halving->other) + offset(halving, halving->low);
    sched_reduce(halving->sched, piece.reduce, lower, upper, piece.count);
    if (other_is_lower)
        return;
    char *result = halving->other;
    halving->other = halving->mine;
    halving->mine = result;
}

static void halve(halving_t *halving)
{
    const int base = halving->group.base;
    const int number = halving->number - base;
    for (int bit = 1; bit < halving->group.size; bit *= 2) {
        const int partner = number ^ bit;
        const int middle = (halving->low + halving->high) / 2;
        const int keeps_low = number < partner;
        const int low = halving->low;
        const int high = halving->high;
        halving->low = keeps_low ? low : middle;
        halving->high = keeps_low ? middle : high;
        take(halving, base + partner, halving->low, halving->high);
        give(halving, base + partner, halving->mine, keeps_low ? middle : low, keeps_low ? high : middle);
        sched_wait(halving->sched, 0);
        combine(halving, partner < number);
    }
}

/* To the member of a group with these places, of so many each. */
static void give_member(const halving_t *halving, group_t group, const char *from, int low, int high)
{
    const int each = halving->power / group.size;
    give(halving, group.base + reversed(low / each, group.size), from, low, high);
}

/* A binomial tree whose root, of the group behind, has the places of several members. The first one has its own alone. */
static void take_from_behind(halving_t *halving, group_t behind)
{
    const int each = halving->high - halving->low;
    const int covers = halving->power / behind.size;
    const int from = halving->low % covers / each; /* number of members before this one */
    const int low = halving->low;
    int share = 1; /* members whose places come here */
    while (from != 0 && (from & share) == 0)
        share *= 2;
    const int above = from - share; /* of another member, unless it is 0 */
    if (above <= 0)
        take(halving, behind.base + reversed(low / covers, behind.size), low, low + share * each);
    else
        take(halving, halving->group.base + reversed(low / each - share, halving->group.size), low, low + share * each);
    sched_wait(halving->sched, 0);
    for (share /= 2; share > 0; share /= 2)
        give_member(halving, halving->group, halving->other, low + share * each, low + 2 * share * each);
    combine(halving, 0);
}

static void give_before(const halving_t *halving, group_t before)
{
    const int each = halving->power / before.size;
    int half = (halving->high - halving->low) / 2;
    for (; half >= each; half /= 2)
        give_member(halving, before, halving->mine, halving->low + half, halving->low + 2 * half);
    give_member(halving, before, halving->mine, halving->low, halving->low + each);
}

/* What is this member's own, in `mine`. */
static const char *finish(halving_t *halving)
{
    const int first = halving->number % halving->power;
    const int second = first + halving->power;
    const int place = halving->at[reversed(first, halving->power)];
    const int middle = place + places_of(halving, first);
    char *at = halving->mine + halving->list.starts[middle];
    const size_t length = second < halving->members
                              ? parts_bytes(&halving->list, middle, middle + places_of(halving, second))
                              : 0;
    if (second == halving->number) {
        sched_wait(halving->sched, 0); /* messages leave both buffers */
        sched_recv(halving->sched, rank_of(halving, first), at, length);
    } else if (second < halving->members) {
        sched_send(halving->sched, rank_of(halving, second), at, length);
    }
    sched_wait(halving->sched, 0);
    return second == halving->number ? at : halving->mine + halving->list.starts[place];
}

/* Each member has all in `mine`. */
static const char *run(halving_t *halving)
{
    group_t before;
    halving->group = group_of(halving, &before);
    const group_t behind = group_behind(halving->group, halving->members);
    halve(halving);
    if (behind.size > 0)
        take_from_behind(halving, behind);
    if (before.size > 0)
        give_before(halving, before);
    return finish(halving);
}

const char *halving_among_near(const parts_t *parts, const columns_t *columns)
{
    halving_t halving;
    if (!open(&halving, parts, columns, NEAR))
        return NULL;
    parts_pack(parts->sched, &halving.list, 0, sched_size(parts->sched), halving.mine);
    return run(&halving);
}

/* A part of each node, or none where the node has no such rank. */
static const char *halve_column(halving_t *halving, const char *near)
{
    const columns_t *columns = halving->columns;
    for (int i = 0; i < halving->power; i++) {
        int place = halving->at[i];
        for (int node = reversed(i, halving->power); node < halving->members; node += halving->power) {
            const int next = place + places_of(halving, node);
            sched_copy(halving->sched, halving->mine + halving->list.starts[place],
                       near + parts_bytes(&columns->list, columns->nodes[0], first_of(halving, node)),
                       parts_bytes(&halving->list, place, next));
            place = next;
        }
    }
    return run(halving);
}

void halving_between_nodes(const parts_t *parts, const columns_t *columns, const char *near, void *result)
{
    const char *own = NULL;
    halving_t halving;
    for (int column = 0; column < columns->count; column++) {
        if (!open(&halving, parts, columns, column))
            return;
        const char *part = halve_column(&halving, near);
        own = column == 0 ? part : own;
    }
    sched_copy(parts->sched, result, own,
               parts_bytes(&columns->list, columns_first(parts, columns, 0, parts->node),
                           columns_first(parts, columns, 0, parts->node + 1)));
}
