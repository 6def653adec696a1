/* SPDX-License-Identifier: Apache-2.0
 * status.h - per-thread error record: code, text and contexts appended on the way up.
 *
 * The function that decides the error records it (err_set); callers may add one line (err_add); nobody logs
 * and returns. Texts name the cause and, where there is one, the setting or command that helps. */
#ifndef VBN_BASE_STATUS_H
#define VBN_BASE_STATUS_H

#include "vbn/vbn.h"

#define BASE_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Records `code` with a text and returns it: `return err_set(VBN_ERR_RANGE, "offset %zu beyond %zu", o, n);` */
vbn_status_t err_set(vbn_status_t code, const char *format, ...) BASE_PRINTF(2, 3);
/* As err_set with VBN_ERR_SYSTEM (or NO_MEMORY for ENOMEM/ENOSPC, ACCESS for EACCES/EPERM, LIMIT for EMFILE/ENFILE,
 * IN_USE for EADDRINUSE) and ": <strerror(errnum)>" appended. */
vbn_status_t err_sys(int errnum, const char *format, ...) BASE_PRINTF(2, 3);
/* Appends "; <context>" to the record and returns code unchanged. */
vbn_status_t err_add(vbn_status_t code, const char *format, ...) BASE_PRINTF(2, 3);
const char *err_text(void);
/* An operation ends with this error long after its call: whoever found the error has recorded it just now, or this records
 * what the status means. */
void err_ensure(vbn_status_t code);
/* What a status means, as a clause. */
const char *status_meaning(vbn_status_t status);
/* The end of a noun behind a number: "%zu byte%s", n, plural(n). */
static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}
/* What helps against this errno whatever call it came from, as " (...)"; "" where that depends on the call. err_sys adds it. */
const char *err_cure(int errnum);

#endif
