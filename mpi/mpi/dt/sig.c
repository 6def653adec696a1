/* SPDX-License-Identifier: Apache-2.0
 * sig.c - signatures.
 */
#include "dt/sig.h"

#include <stdlib.h>

#include "dt/dt.h"
#include "err/err.h"

dt_sig_t dt_sig_empty;

static dt_sig_t *keep(dt_sig_t *sig)
{
    if (sig->refs > 0)
        sig->refs++;
    return sig;
}

void dt_sig_release(dt_sig_t *sig)
{
    if (sig == NULL || sig->refs == 0 || --sig->refs > 0)
        return;
    for (size_t i = 0; i < sig->n; i++)
        dt_sig_release(sig->items[i].part);
    free(sig->items);
    free(sig);
}

static size_t item_elements(const dt_sig_item_t *item)
{
    return item->part == NULL ? 1 : item->part->elements;
}

static size_t item_bytes(const dt_sig_item_t *item)
{
    return item->part == NULL ? dt_predefined[item->basic].size : item->part->bytes;
}

static size_t item_external(const dt_sig_item_t *item)
{
    return item->part == NULL ? dt_predefined[item->basic].external : item->part->external;
}

/* Appends count times the signature; what has one item is taken apart, equal neighbours become one. */
static void append(dt_sig_t *made, dt_sig_t *sig, size_t count)
{
    dt_sig_item_t item = {.part = sig, .count = count};
    if (count == 0 || sig->n == 0)
        return;
    if (sig->n == 1) {
        item = sig->items[0];
        item.count *= count;
    }
    made->elements += item.count * item_elements(&item);
    made->bytes += item.count * item_bytes(&item);
    made->external += item.count * item_external(&item);
    dt_sig_item_t *last = made->n > 0 ? &made->items[made->n - 1] : NULL;
    if (last != NULL && last->part == item.part && (item.part != NULL || last->basic == item.basic))
        last->count += item.count;
    else
        made->items[made->n++] = item;
}

int dt_sig_join(const dt_sig_part_t *parts, size_t n, dt_sig_t **sig_p)
{
    dt_sig_t *made = calloc(1, sizeof(*made));
    *sig_p = NULL;
    if (made == NULL || (made->items = calloc(n > 0 ? n : 1, sizeof(*made->items))) == NULL) {
        free(made);
        return err_set(MPI_ERR_NO_MEM, "datatype: no memory left");
    }
    made->refs = 1;
    for (size_t i = 0; i < n; i++)
        append(made, parts[i].sig, parts[i].count);
    for (size_t i = 0; i < made->n; i++)
        if (made->items[i].part != NULL)
            (void)keep(made->items[i].part);
    dt_sig_item_t *fitting = realloc(made->items, (made->n > 0 ? made->n : 1) * sizeof(*made->items));
    if (fitting != NULL)
        made->items = fitting;
    *sig_p = made;
    return MPI_SUCCESS;
}

int dt_sig_repeat(dt_sig_t *sig, size_t count, dt_sig_t **sig_p)
{
    const dt_sig_part_t part = {.sig = sig, .count = count};
    if (count == 1) {
        *sig_p = keep(sig);
        return MPI_SUCCESS;
    }
    return dt_sig_join(&part, 1, sig_p);
}

MPI_Count dt_sig_elements(const dt_sig_t *sig, size_t bytes)
{
    if (sig->bytes == 0)
        return bytes == 0 ? 0 : -1;
    size_t elements = bytes / sig->bytes * sig->elements;
    size_t rest = bytes % sig->bytes;
    for (size_t i = 0; rest > 0; i++) {
        const dt_sig_item_t *item = &sig->items[i];
        const size_t unit = item_bytes(item);
        const size_t whole = rest / unit < item->count ? rest / unit : item->count;
        elements += whole * item_elements(item);
        rest -= whole * unit;
        if (whole == item->count || rest == 0)
            continue;
        const MPI_Count more = item->part == NULL ? -1 : dt_sig_elements(item->part, rest);
        return more < 0 ? -1 : (MPI_Count)elements + more;
    }
    return (MPI_Count)elements;
}

MPI_Count dt_sig_bytes(const dt_sig_t *sig, size_t elements)
{
    size_t bytes;
    if (sig->elements == 0)
        return elements == 0 ? 0 : -1;
    if (__builtin_mul_overflow(elements / sig->elements, sig->bytes, &bytes) || bytes > PTRDIFF_MAX - sig->bytes)
        return -1;
    size_t rest = elements % sig->elements;
    for (size_t i = 0; rest > 0; i++) {
        const dt_sig_item_t *item = &sig->items[i];
        const size_t unit = item_elements(item);
        const size_t whole = rest / unit < item->count ? rest / unit : item->count;
        bytes += whole * item_bytes(item);
        rest -= whole * unit;
        if (whole < item->count && rest > 0) /* only a part can hold a rest */
            return (MPI_Count)bytes + dt_sig_bytes(item->part, rest);
    }
    return (MPI_Count)bytes;
}

int dt_sig_walk(const dt_sig_t *sig, dt_sig_func_t each, void *arg)
{
    int rc = MPI_SUCCESS;
    for (size_t i = 0; i < sig->n && rc == MPI_SUCCESS; i++) {
        const dt_sig_item_t *item = &sig->items[i];
        if (item->part == NULL)
            rc = each(arg, item->basic, item->count);
        for (size_t k = 0; item->part != NULL && k < item->count && rc == MPI_SUCCESS; k++)
            rc = dt_sig_walk(item->part, each, arg);
    }
    return rc;
}
