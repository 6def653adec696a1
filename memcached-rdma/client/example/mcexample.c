/* SPDX-License-Identifier: Apache-2.0
 * mcexample.c - the client library in one page: set and get, many at once, and how the server is reached.
 *
 *   ./verbena memcached -p 11211 & mcexample 127.0.0.1:11211 */
#include <stdio.h>
#include <string.h>

#include "verbena/mc.h"

#define MANY 10
#define SECOND_NS 1000000000u

static void show(void *arg, size_t index, const void *bytes, const vmc_value_t *value)
{
    (void)arg;
    printf("  key %zu: %.*s\n", index, (int)value->length, (const char *)bytes);
}

/* Ten sets under way at once, then one get of all. */
static vmc_status_t many(vmc_t *mc)
{
    char names[MANY][16], values[MANY][16];
    vmc_req_t reqs[MANY], *all[MANY];
    vmc_key_t keys[MANY];
    for (int i = 0; i < MANY; i++) {
        int length = snprintf(names[i], sizeof(names[i]), "example:%d", i);
        int bytes = snprintf(values[i], sizeof(values[i]), "value %d", i);
        keys[i] = (vmc_key_t){names[i], (size_t)length};
        all[i] = &reqs[i];
        (void)vmc_iset(mc, names[i], (size_t)length, values[i], (size_t)bytes, 60, 0, &reqs[i]);
    }
    vmc_status_t status = vmc_wait_all(mc, all, MANY, SECOND_NS);
    return status == VMC_OK ? vmc_mget(mc, keys, MANY, show, NULL) : status;
}

int main(int argc, char **argv)
{
    const char *error;
    char buffer[64], text[512];
    vmc_value_t value;
    vmc_t *mc = vmc_open(argc > 1 ? argv[1] : "127.0.0.1", &error);
    if (mc == NULL) {
        fprintf(stderr, "mcexample: %s\n", error);
        return 2;
    }
    vmc_status_t status = vmc_set(mc, "greeting", 8, "hello", 5, 60, 0);
    if (status == VMC_OK)
        status = vmc_get(mc, "greeting", 8, buffer, sizeof(buffer), &value);
    if (status == VMC_OK)
        printf("greeting: %.*s\n", (int)value.length, buffer);
    if (status == VMC_OK)
        status = many(mc);
    (void)vmc_explain(mc, "greeting", 8, text, sizeof(text));
    printf("%s\n%s\n", vmc_status_name(status), text);
    vmc_close(mc);
    return status == VMC_OK ? 0 : 1;
}
