/* SPDX-License-Identifier: Apache-2.0
 * marks.c - the variables of Fortran that stand for addresses of C.
 *
 * The modules have variables that this library alone defines. mpif.h has a common block, of which a program has one as well; the
 * loader binds all of one scope to the same. A library that is loaded by itself (RTLD_LOCAL) has its own: where this library is
 * not in the scope of the program, blocks are looked for whenever the list of loaded objects has changed.
 */
#include "fortran.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

#define VARIABLE(name, ints, mark)                                                                                     \
    extern int name[ints] VISIBLE;                                                                                     \
    int name[ints];
#define BLOCK(name, ints, ...) VARIABLE(name, ints, )
FORTRAN_BLOCKS(BLOCK)
FORTRAN_VARIABLES(VARIABLE)

#define MARKS_OF_BLOCK 8
typedef struct member {
    fortran_mark_t mark;
    int offset; // in INTEGERs
} member_t;

typedef struct block {
    const char *symbol;
    const int *own;
    int members;
    member_t at[MARKS_OF_BLOCK];
} block_t;

/* A common block of mpif.h: each library may have one of its own. */
#define BLOCK_ROW(name, ints, ...)                                                                                     \
    {#name, name, (int)(sizeof((member_t[]){__VA_ARGS__}) / sizeof(member_t)), {__VA_ARGS__}},
static const block_t blocks[] = {FORTRAN_BLOCKS(BLOCK_ROW)};
#define BLOCKS (sizeof(blocks) / sizeof(blocks[0]))

#define VARIABLE_ROW(name, ints, mark) {name, mark},
static const struct {
    const int *place;
    fortran_mark_t mark;
} variables[] = {FORTRAN_VARIABLES(VARIABLE_ROW){NULL, MARK_NONE}};

typedef struct list {
    const void **at;
    size_t count;
} list_t;

static bool alone;                 // not in the scope of the program
static atomic_ullong changes_seen; // of the list of loaded objects
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static list_t found[BLOCKS]; // of libraries; under the mutex
uintptr_t fortran_marks_low;
uintptr_t fortran_marks_span;

static void add(list_t *list, const void *item)
{
    const void **longer = item == NULL ? NULL : realloc(list->at, (list->count + 1) * sizeof(*longer));
    if (longer == NULL)
        return;
    list->at = longer;
    list->at[list->count++] = item;
}

static int add_name(struct dl_phdr_info *object, size_t size, void *names)
{
    (void)size;
    if (object->dlpi_name[0] != '\0')
        add(names, strdup(object->dlpi_name));
    return 0;
}

/* The loader's lock is not held here: dlopen takes another one. */
static void find_blocks(list_t lists[BLOCKS])
{
    list_t names = {NULL, 0};
    dl_iterate_phdr(add_name, &names);
    for (size_t i = 0; i < names.count; i++) {
        void *library = dlopen(names.at[i], RTLD_LAZY | RTLD_NOLOAD);
        for (size_t at = 0; library != NULL && at < BLOCKS; at++)
            add(&lists[at], dlsym(library, blocks[at].symbol));
        if (library != NULL)
            dlclose(library);
        free((void *)(uintptr_t)names.at[i]);
    }
    free(names.at);
}

static int count_changes(struct dl_phdr_info *object, size_t size, void *changes)
{
    (void)size;
    *(unsigned long long *)changes = object->dlpi_adds + object->dlpi_subs;
    return 1; /* each object says the same */
}

static void look_for_blocks(void)
{
    unsigned long long changes = 0;
    list_t lists[BLOCKS] = {{NULL, 0}};
    dl_iterate_phdr(count_changes, &changes);
    if (changes == atomic_load_explicit(&changes_seen, memory_order_acquire)) /* pairs with the store below */
        return;
    find_blocks(lists);
    pthread_mutex_lock(&mutex);
    for (size_t at = 0; at < BLOCKS; at++) {
        free(found[at].at);
        found[at] = lists[at];
    }
    atomic_store_explicit(&changes_seen, changes, memory_order_release);
    pthread_mutex_unlock(&mutex);
}

static fortran_mark_t mark_of_block(const void *pointer, const block_t *block, const int *place)
{
    for (int i = 0; i < block->members; i++)
        if (pointer == place + block->at[i].offset)
            return block->at[i].mark;
    return MARK_NONE;
}

static fortran_mark_t mark_of_libraries(const void *pointer)
{
    fortran_mark_t mark = MARK_NONE;
    look_for_blocks();
    pthread_mutex_lock(&mutex);
    for (size_t at = 0; at < BLOCKS; at++)
        for (size_t i = 0; i < found[at].count && mark == MARK_NONE; i++)
            mark = mark_of_block(pointer, &blocks[at], found[at].at[i]);
    pthread_mutex_unlock(&mutex);
    return mark;
}

fortran_mark_t fortran_mark_at(const void *pointer)
{
    fortran_mark_t mark = MARK_NONE;
    for (size_t i = 0; variables[i].place != NULL; i++)
        if (pointer == variables[i].place)
            return variables[i].mark;
    for (size_t at = 0; at < BLOCKS && mark == MARK_NONE; at++)
        mark = mark_of_block(pointer, &blocks[at], blocks[at].own);
    return mark == MARK_NONE && alone ? mark_of_libraries(pointer) : mark;
}

static void know_place(const int *place, uintptr_t *low, uintptr_t *high)
{
    const uintptr_t address = (uintptr_t)place;
    *low = address < *low ? address : *low;
    *high = address >= *high ? address + 1 : *high;
}

/* All that is known at the start lies between two addresses; what comes later may lie anywhere. */
__attribute__((constructor)) static void know_marks(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    uintptr_t low = UINTPTR_MAX;
    uintptr_t high = 0;
    alone = program == NULL;
    for (size_t at = 0; at < BLOCKS; at++) {
        alone = alone || dlsym(program, blocks[at].symbol) != blocks[at].own;
        for (int i = 0; i < blocks[at].members; i++)
            know_place(blocks[at].own + blocks[at].at[i].offset, &low, &high);
    }
    if (program != NULL)
        dlclose(program);
    for (size_t i = 0; variables[i].place != NULL; i++)
        know_place(variables[i].place, &low, &high);
    fortran_marks_low = alone ? 0 : low;
    fortran_marks_span = alone ? UINTPTR_MAX : high - low;
}
