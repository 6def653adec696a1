/* SPDX-License-Identifier: Apache-2.0
 * pmi.h - what the launcher tells a process: rank, size, who shares its node, and a key-value space of the job.
 *
 * pmi_open looks for a launcher in the environment: PMI_FD -> PMI-1; nothing -> a singleton. A launcher that is
 * there but not understood is an error, never N singletons. Failures return -1 and leave a text "what failed:
 * cause; cure" in pmi->error. One thread at a time.
 */
#ifndef VERBENA_PMI_H
#define VERBENA_PMI_H

#include <stddef.h>

typedef struct pmi pmi_t;

/* One way to talk to a launcher. Every function returns 0, or -1 with pmi->error set. */
typedef struct pmi_ops {
    int (*put)(pmi_t *pmi, const char *key, const char *value);
    int (*get)(pmi_t *pmi, const char *key, char *value, size_t capacity);
    int (*has)(pmi_t *pmi, const char *key); /* 1: the key has a value, 0: not yet, or it cannot be seen yet */
    int (*fence_start)(pmi_t *pmi); /* a barrier of all ranks, after which everybody sees what was put before it */
    int (*fence_test)(pmi_t *pmi);  /* 1: it is over, 0: not yet, poll pmi->fd */
    void (*abort)(pmi_t *pmi, int code);
    int (*close)(pmi_t *pmi);
} pmi_ops_t;

struct pmi {
    const pmi_ops_t *ops;
    int rank;
    int size;
    int local_size; /* ranks of this node, this one included */
    int node;       /* number of this node, equal for ranks of one node */
    char *mapping;  /* of ranks to nodes, as the launcher says it; NULL: it does not */
    int universe;   /* -1: unknown */
    int appnum;
    int fd;           /* of the launcher's socket, -1: none */
    size_t value_max; /* bytes of a value, its end included */
    int fence_over;   /* its answer came before that of a later request */
    char job[256];    /* name of the key-value space */
    char error[512];
    char line[8192]; /* what has been read and not used yet */
    size_t line_length;
};

int pmi_open(pmi_t *pmi);
int pmi_close(pmi_t *pmi);

/* Bytes of any length under one key; base64 without padding, as a line has '=' between key and value only. In as many values as
 * needed: KEY-0, which is put last, KEY-1 ... */
int pmi_put_bytes(pmi_t *pmi, const char *key, const void *bytes, size_t length);
/* length_p: in capacity, out bytes written. */
int pmi_get_bytes(pmi_t *pmi, const char *key, void *bytes, size_t *length_p);
/* Waits in the launcher: nothing else moves meanwhile. */
int pmi_fence(pmi_t *pmi);

/* Number of ranks on the node of `rank`, from the value of PMI_process_mapping; 0: the value is malformed. */
int pmi_mapping_local(const char *mapping, int rank, int size);
/* Number of the node of `rank`; -1: the value is malformed. */
int pmi_mapping_node(const char *mapping, int rank, int size);
/* Number of the node of `rank` of this job; -1: the launcher does not say. */
int pmi_node(const pmi_t *pmi, int rank);

int pmi1_open(pmi_t *pmi, int fd);
int pmi_singleton_open(pmi_t *pmi);

#endif
