/* SPDX-License-Identifier: Apache-2.0
 * own_core.c - a program that is linked with libvbn.a has a core of its own beside the library's, and each keeps to itself.
 * ranks: 2 tcp
 */
#include "rule.h"

#include <vbn/vbn.h>

#define MANY 5000

static vbn_context_t *context;
static vbn_worker_t *worker;

static void open_own(void)
{
    vbn_config_t *config;
    CHECK(vbn_config_create(&config) == VBN_OK);
    CHECK(vbn_config_set(config, "security.auth", "none") == VBN_OK &&
          vbn_config_set(config, "tl.enable", "self") == VBN_OK);
    CHECK(vbn_open(config, &context) == VBN_OK && vbn_worker_create(context, &worker) == VBN_OK);
    vbn_config_destroy(config);
}

static void exchange(int count)
{
    static int out[MANY];
    static int in[MANY];
    const int other = 1 - rank;
    for (int i = 0; i < count; i++)
        out[i] = rank * MANY + i;
    MPI_Sendrecv(out, count, MPI_INT, other, 1, in, count, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        CHECK(in[i] == other * MANY + i);
}

static void test(void)
{
    char value[64];
    char error[VBN_ADDRESS_MAX];
    open_own();
    CHECK(vbn_setting(context, "no.such", value, sizeof(value), NULL) == VBN_ERR_SETTING);
    snprintf(error, sizeof(error), "%s", vbn_error_text());
    for (int i = 0; i < 20; i++) {
        exchange(i % 2 == 0 ? 1 : MANY);
        vbn_progress(worker);
    }
    CHECK(strcmp(error, vbn_error_text()) == 0);
    CHECK(vbn_setting(context, "tl.enable", value, sizeof(value), NULL) == VBN_OK && strcmp(value, "self") == 0);
    vbn_worker_destroy(worker);
    CHECK(vbn_close(context) == VBN_OK);
    exchange(MANY);
}
