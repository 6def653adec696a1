/* SPDX-License-Identifier: Apache-2.0
 * choose.c - see choose.h.
 */
#include "grp/choose.h"

#include <string.h>

#define FIRST_CALLS (2u * CHOOSE_WAYS) /* C1 */

void choose_open(choose_t *choose, const char *way)
{
    memset(choose, 0, sizeof(*choose));
    choose->forced = CHOOSE_WAYS;
    if (strcmp(way, "pieces") == 0)
        choose->forced = CHOOSE_PIECES;
    else if (strcmp(way, "messages") == 0)
        choose->forced = CHOOSE_MESSAGES;
}

unsigned choose_class(size_t bytes)
{
    unsigned row = 0;
    while (row + 1 < CHOOSE_CLASSES && bytes >= (size_t)CHOOSE_LEAST << (row + 1))
        row++;
    return row;
}

/* A way whose time is unknown is not the faster one. */
static choose_way_t faster(const uint64_t *ns)
{
    return ns[CHOOSE_MESSAGES] != 0 && (ns[CHOOSE_PIECES] == 0 || ns[CHOOSE_MESSAGES] < ns[CHOOSE_PIECES])
               ? CHOOSE_MESSAGES
               : CHOOSE_PIECES;
}

int choose_knows(const choose_t *choose, size_t bytes)
{
    const uint64_t *ns = choose->classes[choose_class(bytes)].ns;
    return choose->forced != CHOOSE_WAYS || (ns[CHOOSE_PIECES] != 0 && ns[CHOOSE_MESSAGES] != 0);
}

choose_way_t choose_next(choose_t *choose, size_t bytes)
{
    const unsigned row = choose_class(bytes);
    if (choose->forced != CHOOSE_WAYS)
        return (choose_way_t)choose->forced;
    const uint32_t call = choose->classes[row].calls++;
    if (call < FIRST_CALLS)
        return call / 2 == 0 ? CHOOSE_PIECES : CHOOSE_MESSAGES;
    const choose_way_t best = faster(choose->classes[row].ns);
    if (call % CHOOSE_AGAIN != CHOOSE_AGAIN - 1)
        return best;
    return best == CHOOSE_PIECES ? CHOOSE_MESSAGES : CHOOSE_PIECES;
}

void choose_learn(choose_t *choose, unsigned row, choose_way_t way, uint64_t ns)
{
    uint64_t *known = choose->classes[row].ns;
    if (choose->classes[row].calls <= FIRST_CALLS || known[way] == 0 || faster(known) != way) {
        known[way] = ns;
        return;
    }
    const uint64_t most = known[way] * CHOOSE_OUTLIER;
    known[way] = (3 * known[way] + (ns < most ? ns : most)) / 4;
}
