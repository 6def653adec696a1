/* SPDX-License-Identifier: Apache-2.0
 * table.c - see table.h. A new choice is a row here, a value of table_row_t, and a call of table_is_few.
 */
#include "grp/table.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "grp/node.h"
#include "grp/steps.h"

#define TEXT_BYTES 512u /* of the setting */

typedef struct row {
    const char *name;
    const char *of; /* what its bytes are */
    const char *few;
    const char *many;
    size_t most[2]; /* of the first algorithm: of two ranks, of more */
    size_t cap;     /* of the first algorithm where it is forced */
} row_t;

#define ALL SIZE_MAX
static const row_t ROWS[TABLE_ROWS] = {
    /* blocking ones of ranks that share a node */
    [TABLE_BCAST] = {"bcast", "", "slots", "tree", {NODE_BYTES, NODE_BCAST}, NODE_BCAST},
    [TABLE_REDUCE] = {"reduce", " of up to 8 ranks", "slots", "pieces", {NODE_REDUCE, NODE_REDUCE}, NODE_REDUCE},
    [TABLE_GATHER] = {"gather", " of a block", "slots", "messages", {NODE_BYTES, NODE_BYTES}, NODE_BYTES},
    [TABLE_SCATTER] = {"scatter", " of all blocks", "slots", "messages", {NODE_BYTES, NODE_BYTES}, NODE_BYTES},
    [TABLE_ALLGATHER] = {"allgather", " of a block", "slots", "messages", {NODE_BYTES, NODE_BYTES}, NODE_BYTES},
    [TABLE_ALLTOALL] = {"alltoall", " of a rank's blocks", "slots", "messages", {NODE_BYTES, NODE_BYTES}, NODE_BYTES},
    [TABLE_SCAN] = {"scan", " of all ranks", "slots", "pieces", {NODE_REDUCE, NODE_REDUCE}, NODE_REDUCE},
    /* all others: schedules of messages */
    [TABLE_GATHER_STEPS] = {"gather.steps", " of a block", "tree", "root", {STEPS_TREE_MOST, STEPS_TREE_MOST}, ALL},
    [TABLE_SCATTER_STEPS] = {"scatter.steps", " of a block", "tree", "root", {STEPS_TREE_MOST, STEPS_TREE_MOST}, ALL},
    [TABLE_ALLGATHER_STEPS] =
        {"allgather.steps", " of a block, on average", "spread", "ring", {STEPS_SPREAD_MOST, STEPS_SPREAD_MOST}, ALL},
    [TABLE_ALLTOALL_STEPS] =
        {"alltoall.steps", " of a block", "exchange", "pairs", {STEPS_EXCHANGE_MOST, STEPS_EXCHANGE_MOST}, ALL},
    [TABLE_ALLREDUCE_STEPS] =
        {"allreduce.steps", "", "doubling", "halving", {STEPS_DOUBLING_MOST, STEPS_DOUBLING_MOST}, ALL},
    [TABLE_SCAN_STEPS] = {"scan.steps", "", "chain", "pieces", {STEPS_CHAIN_MOST, STEPS_CHAIN_MOST}, ALL},
};

size_t table_limits[TABLE_ROWS][2];

static void reset(void)
{
    for (unsigned row = 0; row < TABLE_ROWS; row++)
        for (unsigned more = 0; more < 2; more++)
            table_limits[row][more] = ROWS[row].most[more] + 1;
}

/* Rows are there before the first collective, also of a program that opens nothing (unit tests). */
__attribute__((constructor)) static void start(void)
{
    reset();
}

static int is_word(const char *word, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(word, text, length) == 0;
}

/* NAME=WAY. */
static int force(const char *word, size_t length, char *error, size_t capacity)
{
    const char *equals = memchr(word, '=', length);
    const size_t name = equals != NULL ? (size_t)(equals - word) : length;
    const char *way = word + name + 1;
    for (unsigned row = 0; equals != NULL && row < TABLE_ROWS; row++) {
        if (!is_word(word, name, ROWS[row].name))
            continue;
        const int is_few = is_word(way, length - name - 1, ROWS[row].few);
        if (!is_few && !is_word(way, length - name - 1, ROWS[row].many)) {
            (void)snprintf(error, capacity, "%s has no algorithm %.*s: give %s or %s", ROWS[row].name,
                           (int)(length - name - 1), way, ROWS[row].few, ROWS[row].many);
            return -1;
        }
        const size_t limit = !is_few ? 0 : ROWS[row].cap == ALL ? ALL : ROWS[row].cap + 1;
        table_limits[row][0] = table_limits[row][1] = limit;
        return 0;
    }
    (void)snprintf(error, capacity,
                   "%.*s is no row of the table: give NAME=ALGORITHM; mpiexec -explain prints the table", (int)length,
                   word);
    return -1;
}

int table_set(const char *text, char *error, size_t capacity)
{
    reset();
    while (*text != 0) {
        const size_t length = strcspn(text, ",");
        if (!is_word(text, length, "explain") && force(text, length, error, capacity) != 0)
            return -1;
        text += length + (text[length] != 0);
    }
    return 0;
}

int table_explain(table_row_t row, int ranks, char *text, size_t capacity)
{
    const row_t *r = &ROWS[row];
    const size_t limit = table_limits[row][ranks > 2];
    if (limit == 0 || limit == ALL)
        return snprintf(text, capacity, "%s: %s", r->name, limit == 0 ? r->many : r->few);
    return snprintf(text, capacity, "%s: %s up to %zu bytes%s, else %s", r->name, r->few, limit - 1, r->of, r->many);
}

static int is_wanted(const char *text)
{
    while (*text != 0) {
        const size_t length = strcspn(text, ",");
        if (is_word(text, length, "explain"))
            return 1;
        text += length + (text[length] != 0);
    }
    return 0;
}

static void print(void)
{
    char line[160];
    rt_say("algorithms of %d ranks, %d of them on this node; NAME.steps: between nodes, and where slots are not used",
           rt.size, rt.pmi.local_size);
    for (unsigned row = 0; row < TABLE_ROWS; row++) {
        const int in_node = row < TABLE_GATHER_STEPS;
        (void)table_explain((table_row_t)row, in_node ? rt.pmi.local_size : rt.size, line, sizeof(line));
        rt_say("%s", line);
    }
}

int table_open(void)
{
    char text[TEXT_BYTES] = "", error[TEXT_BYTES];
    if (vbn_setting(rt.context, "mpi.collectives", text, sizeof(text), NULL) != VBN_OK)
        return rt_fail("mpi.collectives: %s", vbn_error_text());
    if (table_set(text, error, sizeof(error)) != 0)
        return rt_fail("mpi.collectives=%s: %s", text, error);
    if (rt.rank == 0 && is_wanted(text))
        print();
    return 0;
}
