/* SPDX-License-Identifier: Apache-2.0
 * pmi.c - which launcher started this process; values of any length.
 */
#include "pmi/pmi.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

/* Launchers whose steps have several tasks and which told us nothing we understand. */
static const struct {
    const char *variable;
    const char *name;
    const char *cure;
} others[] = {
    {"PMIX_NAMESPACE", "a PMIx launcher", "with Slurm start it by srun --mpi=pmi2; else by Verbena's mpiexec"},
    {"PMI_PORT", "a launcher that wants a PMI connection by TCP", "start it by Verbena's mpiexec or by mpiexec.hydra"},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpiexec", "start it by Verbena's mpiexec"},
    {"SLURM_STEP_NUM_TASKS", "Slurm without PMI", "start it by srun --mpi=pmi2"},
};

static int wrong_launcher(pmi_t *pmi)
{
    if (getenv("VERBENA_HOST_RANKS") != NULL) /* a child of a rank of ours, whose variables it has */
        return 0;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const char *value = getenv(others[i].variable);
        if (value == NULL || strcmp(value, "1") == 0)
            continue;
        snprintf(pmi->error, sizeof(pmi->error),
                 "this process was started by %s (%s is set),\nwhich does not speak PMI-1 with it: its ranks would be "
                 "singletons;\n%s",
                 others[i].name, others[i].variable, others[i].cure);
        return -1;
    }
    return 0;
}

int pmi_open(pmi_t *pmi)
{
    const char *fd = getenv("PMI_FD");
    memset(pmi, 0, sizeof(*pmi));
    pmi->fd = -1;
    if (fd != NULL)
        return pmi1_open(pmi, atoi(fd));
    if (wrong_launcher(pmi) != 0)
        return -1;
    return pmi_singleton_open(pmi);
}

int pmi_close(pmi_t *pmi)
{
    free(pmi->mapping);
    pmi->mapping = NULL;
    return pmi->ops->close(pmi);
}

int pmi_fence(pmi_t *pmi)
{
    struct pollfd entry = {.fd = pmi->fd, .events = POLLIN};
    int done;
    if (pmi->ops->fence_start(pmi) != 0)
        return -1;
    while ((done = pmi->ops->fence_test(pmi)) == 0)
        (void)poll(&entry, 1, -1);
    return done < 0 ? -1 : 0;
}

/* The text is cut into values KEY-0, KEY-1, ...; the first begins with the length of all and a point. It is put last: who
 * sees it sees all. */
int pmi_put_bytes(pmi_t *pmi, const char *key, const void *bytes, size_t length)
{
    char text[8192];
    char name[64];
    char value[1024];
    const int head = snprintf(text, sizeof(text), "%zu.", BASE64_UNPADDED(length));
    const size_t piece = (pmi->value_max < sizeof(value) ? pmi->value_max : sizeof(value)) - 1;
    const size_t total = (size_t)head + BASE64_UNPADDED(length);
    if (total >= sizeof(text)) {
        snprintf(pmi->error, sizeof(pmi->error), "put %s: %zu bytes are too many for the launcher", key, length);
        return -1;
    }
    text[(size_t)head + base64_encode(bytes, length, false, text + head)] = 0;
    for (size_t i = (total + piece - 1) / piece; i-- > 0;) {
        snprintf(name, sizeof(name), "%s-%zu", key, i);
        snprintf(value, piece + 1, "%s", text + i * piece);
        if (pmi->ops->put(pmi, name, value) != 0)
            return -1;
    }
    return 0;
}

int pmi_get_bytes(pmi_t *pmi, const char *key, void *bytes, size_t *length_p)
{
    char text[8192] = "";
    char name[64];
    size_t used = 0;
    size_t wanted = 0;
    for (size_t i = 0; i == 0 || used < wanted; i++) {
        snprintf(name, sizeof(name), "%s-%zu", key, i);
        if (pmi->ops->get(pmi, name, text + used, sizeof(text) - used) != 0)
            return -1;
        const size_t before = used;
        used += strlen(text + used);
        const char *point = strchr(text, '.');
        wanted = point == NULL ? SIZE_MAX : (size_t)(point + 1 - text) + strtoul(text, NULL, 10);
        if (used == before || wanted >= sizeof(text))
            break;
    }
    const char *point = strchr(text, '.');
    if (point == NULL || used != wanted ||
        !base64_decode(point + 1, strlen(point + 1), false, bytes, *length_p, length_p)) {
        snprintf(pmi->error, sizeof(pmi->error), "get %s: the launcher's value differs from the one that was put", key);
        return -1;
    }
    return 0;
}
