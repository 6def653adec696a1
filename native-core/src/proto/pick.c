/* SPDX-License-Identifier: Apache-2.0
 * pick.c - see pick.h. */
#include "proto/pick.h"

#define TRIES 2u /* of each way at first: K1 */

unsigned pick_row(uint64_t bytes, bool mapped)
{
    unsigned row = 0;
    while (row + 1 < PICK_CLASSES && bytes >= (uint64_t)PICK_LEAST << (row + 1))
        row++;
    return mapped ? PICK_CLASSES + row : row;
}

pick_way_t pick_fastest(const pick_t *pick, unsigned row, unsigned ways)
{
    const uint32_t *known = pick->classes[row].byte_ps;
    unsigned best = PICK_PACKETS;
    for (unsigned way = 0; way < ways; way++)
        if (known[way] != 0 && (known[best] == 0 || known[way] < known[best]))
            best = way;
    return (pick_way_t)best;
}

static pick_way_t next(pick_t *pick, unsigned row, unsigned ways)
{
    const uint32_t time = pick->classes[row].times++;
    if (time < TRIES * ways)
        return (pick_way_t)(time / TRIES);
    const unsigned best = pick_fastest(pick, row, ways);
    if (ways < 2 || time % PICK_AGAIN != PICK_AGAIN - 1)
        return (pick_way_t)best;
    return (pick_way_t)((best + 1 + time / PICK_AGAIN % (ways - 1)) % ways);
}

static void start(pick_t *pick, uint64_t now_ns)
{
    pick->since_ns = now_ns;
    pick->ended = 0;
    pick->bytes = 0;
    pick->spoilt = false;
}

pick_way_t pick_begin(pick_t *pick, unsigned row, unsigned ways, uint64_t now_ns)
{
    if (pick->pending++ == 0) {
        start(pick, now_ns);
        pick->row = (uint8_t)row;
        pick->way = (uint8_t)next(pick, row, ways);
        return (pick_way_t)pick->way;
    }
    pick->spoilt |= row != pick->row;
    return row == pick->row && pick->way < ways ? (pick_way_t)pick->way : pick_fastest(pick, row, ways);
}

static void learn(pick_t *pick, uint64_t ns)
{
    pick_class_t *class = &pick->classes[pick->row];
    uint64_t known = class->byte_ps[pick->way], ps = pick->bytes > 0 ? ns * 1000 / pick->bytes : 0;
    ps = ps == 0 ? 1 : ps < UINT32_MAX / 4 ? ps : UINT32_MAX / 4;
    if (known != 0 && class->times > TRIES * PICK_WAYS && pick->way == pick_fastest(pick, pick->row, PICK_WAYS)) {
        ps = ps < known * PICK_OUTLIER ? ps : known * PICK_OUTLIER;
        ps = (3 * known + ps) / 4;
    }
    class->byte_ps[pick->way] = (uint32_t)ps;
}

void pick_end(pick_t *pick, uint64_t bytes, bool as_said, uint64_t now_ns)
{
    pick->pending--;
    pick->ended++;
    pick->bytes += bytes;
    pick->spoilt |= !as_said;
    if (pick->pending > 0 && pick->ended < PICK_LONG)
        return;
    if (!pick->spoilt)
        learn(pick, now_ns - pick->since_ns);
    start(pick, now_ns);
    pick->spoilt = pick->pending > 0; /* the rest was begun before */
}
