/* SPDX-License-Identifier: Apache-2.0
 * dims.c - MPI_Dims_create: factors as close to each other as can be: the smallest largest one, then the largest
 * smallest one, of all ways to write the number as a product.
 */
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"

typedef struct search {
    int *divisors; /* of the number, ascending */
    int count;
    int *current;
    int *best; /* best[0] 0: none so far */
    int slots;
} search_t;

static int collect_divisors(search_t *search, int number)
{
    int room = 2;
    for (long i = 1; i * i <= number; i++)
        room += number % i == 0 ? 2 : 0;
    search->divisors = malloc((size_t)room * sizeof(int));
    if (search->divisors == NULL)
        return -1;
    for (long i = 1; i * i <= number; i++)
        if (number % i == 0)
            search->divisors[search->count++] = (int)i;
    for (int i = search->count - 1; i >= 0; i--) {
        const int other = number / search->divisors[i];
        if (other > search->divisors[search->count - 1])
            search->divisors[search->count++] = other;
    }
    return 0;
}

static int is_better(const search_t *search)
{
    const int last = search->slots - 1;
    if (search->best[0] == 0 || search->current[0] != search->best[0])
        return search->best[0] == 0 || search->current[0] < search->best[0];
    if (search->current[last] != search->best[last])
        return search->current[last] > search->best[last];
    return memcmp(search->current, search->best, (size_t)search->slots * sizeof(int)) < 0;
}

/* Whether factors of at most `most` in the slots from `slot` on can reach the rest. */
static int can_reach(int rest, int most, int slots)
{
    for (long product = 1; slots > 0; slots--) {
        product *= most;
        if (product >= rest)
            return 1;
    }
    return rest == 1;
}

/* Factors that do not grow; the first is at most that of the best so far. */
static void fill(search_t *search, int slot, int rest, int most)
{
    if (slot == search->slots) {
        if (rest == 1 && is_better(search))
            memcpy(search->best, search->current, (size_t)search->slots * sizeof(int));
        return;
    }
    for (int i = 0; i < search->count && search->divisors[i] <= most && search->divisors[i] <= rest; i++) {
        const int factor = search->divisors[i];
        if (rest % factor != 0 || !can_reach(rest, factor, search->slots - slot))
            continue;
        if (search->best[0] != 0 && (slot == 0 ? factor : search->current[0]) > search->best[0])
            return;
        search->current[slot] = factor;
        fill(search, slot + 1, rest / factor, factor);
    }
}

static int factorize(int number, int slots, int *factors)
{
    search_t search = {.slots = slots, .best = factors};
    search.current = malloc((size_t)slots * sizeof(int));
    int rc = search.current == NULL ? -1 : collect_divisors(&search, number);
    if (rc == 0)
        fill(&search, 0, number, number);
    free(search.current);
    free(search.divisors);
    return rc;
}

int mpi_Dims_create(int nnodes, int ndims, int dims[])
{
    int rest = nnodes;
    int slots = 0;
    if (nnodes <= 0)
        return err_set(MPI_ERR_ARG, "nnodes is %d; it must be positive", nnodes);
    if (ndims > 0 && dims == NULL)
        return err_set(MPI_ERR_ARG, "dims is NULL");
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0 || (dims[i] > 0 && rest % dims[i] != 0))
            return err_set(MPI_ERR_DIMS, "dims[%d] is %d, which is negative or does not divide %d nodes", i, dims[i],
                           nnodes);
        slots += dims[i] == 0;
        rest /= dims[i] == 0 ? 1 : dims[i];
    }
    if (slots == 0)
        return rest == 1 || ndims == 0 ? MPI_SUCCESS
                                       : err_set(MPI_ERR_DIMS, "the product of dims is not %d nodes", nnodes);
    int *factors = calloc((size_t)slots, sizeof(int));
    const int failed = factors == NULL || factorize(rest, slots, factors) != 0;
    for (int i = 0, next = 0; !failed && i < ndims; i++)
        if (dims[i] == 0)
            dims[i] = factors[next++];
    free(factors);
    return failed ? err_set(MPI_ERR_NO_MEM, "dimensions: no memory left") : MPI_SUCCESS;
}
