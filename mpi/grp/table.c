/* SPDX-License-Identifier: Apache-2.0
 * table.c - see table.h. A new choice is a row here, a value of table_row_t, and a call of table_is_few.
 */
#include "grp/table.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "grp/choose.h"
#include "grp/node.h"
#include "grp/steps.h"

#define TEXT_BYTES 512u /* of the setting */

/* Bytes of which the first algorithm is taken at most. */
#define ALWAYS (SIZE_MAX - 1) /* unless the setting says otherwise */
#define ONLY SIZE_MAX         /* the second one is not possible */
#define NEVER (SIZE_MAX - 2)  /* the first one is not possible */

typedef struct row {
    const char *name;
    const char *of; /* what its bytes are */
    const char *few;
    const char *many;
    size_t most[2][2]; /* of the first algorithm: of two ranks on one node, on several; of more ranks */
    size_t cap;        /* of the first algorithm where it is forced */
} row_t;

#define ALIKE(BYTES)                                                                                                   \
    {                                                                                                                  \
        {BYTES, BYTES},                                                                                                \
        {                                                                                                              \
            BYTES, BYTES                                                                                               \
        }                                                                                                              \
    }
#define ONE_NODE(BYTES)                                                                                                \
    {                                                                                                                  \
        {BYTES, NEVER},                                                                                                \
        {                                                                                                              \
            BYTES, NEVER                                                                                               \
        }                                                                                                              \
    }
#define NODES(BYTES)                                                                                                   \
    {                                                                                                                  \
        {NEVER, BYTES},                                                                                                \
        {                                                                                                              \
            NEVER, BYTES                                                                                               \
        }                                                                                                              \
    }
static const row_t ROWS[TABLE_ROWS] = {
    /* blocking ones: ranks that share a node, if all do, or on each node */
    [TABLE_BARRIER] = {"barrier", "", "slots", "messages", ALIKE(ALWAYS), ALWAYS},
    [TABLE_BCAST] = {"bcast", "", "slots", "tree", {{NODE_BYTES, NODE_BYTES}, {NODE_BCAST, NODE_BCAST}}, NODE_BCAST},
    [TABLE_REDUCE] = {"reduce", " of up to 8 ranks", "slots", "pieces", ALIKE(NODE_REDUCE), NODE_REDUCE},
    [TABLE_ALLREDUCE] =
        {"allreduce.pieces", "", "pieces", "measured", {{CHOOSE_LEAST - 1, ONLY}, {ONLY, ONLY}}, ALWAYS},
    [TABLE_BCAST_LARGE] =
        {"bcast.messages", "", "messages", "measured", {{CHOOSE_LEAST - 1, ONLY}, {ONLY, ONLY}}, ALWAYS},
    [TABLE_ALLTOALL_LARGE] =
        {"alltoall.messages", " of a block", "messages", "measured", {{CHOOSE_LEAST - 1, ONLY}, {ONLY, ONLY}}, ALWAYS},
    [TABLE_REDUCE_SCATTER] = {"reduce_scatter", "", "pieces", "messages", ONE_NODE(ALWAYS), ALWAYS},
    [TABLE_GATHER] = {"gather", " of a block", "slots", "messages", ONE_NODE(NODE_BYTES), NODE_BYTES},
    [TABLE_SCATTER] = {"scatter", " of all blocks", "slots", "messages", ONE_NODE(NODE_BYTES), NODE_BYTES},
    [TABLE_ALLGATHER] = {"allgather", " of a block", "slots", "messages", ONE_NODE(NODE_BYTES), NODE_BYTES},
    [TABLE_ALLTOALL] = {"alltoall", " of a rank's blocks", "slots", "messages", ONE_NODE(NODE_BYTES), NODE_BYTES},
    [TABLE_SCAN] = {"scan", " of all ranks", "slots", "pieces", ALIKE(NODE_REDUCE), NODE_REDUCE},
    /* first ranks of nodes speak for the others; all forms */
    [TABLE_BARRIER_LEVELS] = {"barrier.levels", "", "two", "one", NODES(ALWAYS), ALWAYS},
    [TABLE_BCAST_LEVELS] = {"bcast.levels", "", "two", "one", NODES(ALWAYS), ALWAYS},
    [TABLE_REDUCE_LEVELS] = {"reduce.levels", "", "two", "one", NODES(ALWAYS), ALWAYS},
    [TABLE_ALLREDUCE_LEVELS] = {"allreduce.levels", "", "two", "one", NODES(ALWAYS), ALWAYS},
    [TABLE_REDUCE_SCATTER_LEVELS] = {"reduce_scatter.levels", "", "two", "one", NODES(ALWAYS), ALWAYS},
    [TABLE_SCAN_LEVELS] = {"scan.levels", "", "two", "one", NODES(ALWAYS), ALWAYS},
    /* all others: schedules of messages */
    [TABLE_GATHER_STEPS] = {"gather.steps", " of a block", "tree", "root", ALIKE(STEPS_TREE_MOST), ALWAYS},
    [TABLE_SCATTER_STEPS] = {"scatter.steps", " of a block", "tree", "root", ALIKE(STEPS_TREE_MOST), ALWAYS},
    [TABLE_ALLGATHER_STEPS] = {"allgather.steps", " of a block, on average", "spread", "ring", ALIKE(STEPS_SPREAD_MOST),
                               ALWAYS},
    [TABLE_ALLTOALL_STEPS] = {"alltoall.steps", " of a block", "exchange", "pairs", NODES(STEPS_EXCHANGE_MOST), ALWAYS},
    [TABLE_ALLREDUCE_STEPS] = {"allreduce.steps", "", "doubling", "halving", ALIKE(STEPS_DOUBLING_MOST), ALWAYS},
    [TABLE_REDUCE_SCATTER_STEPS] = {"reduce_scatter.steps", " of a block, on average", "halving", "pairs",
                                    ALIKE(STEPS_HALVING_MOST), ALWAYS},
    [TABLE_SCAN_STEPS] = {"scan.steps", "", "chain", "pieces", ALIKE(STEPS_CHAIN_MOST), ALWAYS},
};

size_t table_limits[TABLE_ROWS][2][2];

static size_t limit_of(size_t most)
{
    return most == NEVER ? 0 : most >= ALWAYS ? SIZE_MAX : most + 1;
}

static void reset(void)
{
    for (unsigned row = 0; row < TABLE_ROWS; row++)
        for (unsigned place = 0; place < 4; place++)
            table_limits[row][place / 2][place % 2] = limit_of(ROWS[row].most[place / 2][place % 2]);
}

/* Where both algorithms are possible. */
static void force_row(unsigned row, int is_few)
{
    for (unsigned place = 0; place < 4; place++) {
        const size_t most = ROWS[row].most[place / 2][place % 2];
        if (most != NEVER && most != ONLY)
            table_limits[row][place / 2][place % 2] = is_few ? limit_of(ROWS[row].cap) : 0;
    }
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

/* Every row to its first algorithm, or to its second one. */
static int force_all(const char *word, size_t length)
{
    const int is_few = is_word(word, length, "first");
    if (!is_few && !is_word(word, length, "second"))
        return 0;
    for (unsigned row = 0; row < TABLE_ROWS; row++)
        force_row(row, is_few);
    return 1;
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
        force_row(row, is_few);
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
        if (!is_word(text, length, "explain") && !force_all(text, length) && force(text, length, error, capacity) != 0)
            return -1;
        text += length + (text[length] != 0);
    }
    return 0;
}

int table_explain(table_row_t row, int ranks, int nodes, char *text, size_t capacity)
{
    const row_t *r = &ROWS[row];
    const size_t limit = table_limits[row][ranks > 2][nodes > 1];
    if (limit == 0 || limit == SIZE_MAX)
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

/* The launcher numbers them from 0 on. */
static int nodes_of_job(void)
{
    int last = 0;
    for (int rank = 0; rank < rt.size && rt.pmi.mapping != NULL; rank++) {
        const int node = pmi_node(&rt.pmi, rank);
        last = node > last ? node : last;
    }
    return last + 1;
}

/* Rows of the ranks of a node count where these share memory, which rank 0 knows here. */
static int print_for_node(void)
{
    char way[16] = "";
    if (rt_node.state == RT_NODE_NONE && rt.size > 1 && (rt.pmi.local_size > 1 || rt.pmi.mapping == NULL)) {
        rt_say("within a node: messages, as NAME.steps; there is no node memory (%s)",
               rt.pmi.mapping == NULL ? "the launcher does not say which ranks share a node"
                                      : "mpi.node_memory, shm in tl.enable, or the cause in a line above");
        return 0;
    }
    (void)vbn_setting(rt.context, "mpi.large_pairs", way, sizeof(way), NULL);
    rt_say("measured: %s (mpi.large_pairs)", strcmp(way, "auto") == 0 ? "the faster way, by earlier calls" : way);
    return 1;
}

static void print(void)
{
    char line[160];
    const int nodes = nodes_of_job();
    rt_say(
        "algorithms of %d ranks, %d of them on this node; nodes: %d; NAME.levels, NAME.steps: between nodes, and where "
        "slots are not used",
        rt.size, rt.pmi.local_size, nodes);
    for (unsigned row = print_for_node() ? 0 : TABLE_BARRIER_LEVELS; row < TABLE_ROWS; row++) {
        const int in_node = row < TABLE_BARRIER_LEVELS;
        (void)table_explain((table_row_t)row, in_node ? rt.pmi.local_size : rt.size, nodes, line, sizeof(line));
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
