/* SPDX-License-Identifier: Apache-2.0
 * error.c - the state of this PE, its lines on standard error, and how errors end the job (M2).
 */
#include <stdarg.h>
#include <stdio.h>

#include "shmem/src/shm.h"

#define PEER_LOST_CODE 58 /* of a process that ends because it lost another one: the launcher names that */

shm_t shm;
shm_ctx_t shm_default;

void shm_log(const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    rt_say("PE %d of %d: %s", shm.pe, shm.pes, text);
}

void shm_fatal(const char *function, const char *format, ...)
{
    char text[1100];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    shm_log("%s: %s", function, text);
    rt_abort(1);
}

void shm_failed(const char *function, int status, const char *text)
{
    const int lost = status == VBN_ERR_PEER_LOST || status == VBN_ERR_UNREACHABLE || status == VBN_ERR_TRUNCATED;
    shm_log("%s: %s", function, text);
    rt_abort(lost ? PEER_LOST_CODE : 1);
}

void shm_unwritten(const char *function)
{
    shm_fatal(function, "Verbena does not have this function yet (docs/openshmem.md lists the functions)");
}

void shm_check_ready(const char *function)
{
    if (__builtin_expect(shm.inits == 0, 0)) {
        rt_say("%s: OpenSHMEM is not initialised: call shmem_init before, and nothing after the last shmem_finalize",
               function);
        rt_abort(1);
    }
}
