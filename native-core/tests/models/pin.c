/* SPDX-License-Identifier: Apache-2.0
 * pin.c - reads the given models, writes them as cost files, and names one of these in the environment, where each context
 * finds the setting proto.cost_file. */
#include "pin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "proto/measure.h"

#define PATH_BYTES 256
static const char *const NAMES[] = {"near", "far", "slow"};
#define COUNT (sizeof(NAMES) / sizeof(NAMES[0]))
static char folder[] = "/tmp/vbn-models-XXXXXX";
static model_host_t models[COUNT], chosen;
static bool pinned;

/* Lines of a name and a number, and comments. Sets what is named; false when it knows a name or a number not. */
static bool read_lines(FILE *file, model_host_t *model)
{
    struct {
        const char *name;
        uint32_t *value;
    } const fields[] = {{"copy_ps", &model->copy_ps},
                        {"handover_ns", &model->handover_ns},
                        {"syscall_ns", &model->syscall_ns},
                        {"pack_ps", &model->pack_ps}};
    char line[PATH_BYTES], name[32];
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned value = 0, i = 0;
        if (line[0] == '#')
            continue;
        if (sscanf(line, "%31s %u", name, &value) != 2)
            return false;
        while (i < 4 && strcmp(fields[i].name, name) != 0)
            i++;
        if (i == 4)
            return false;
        *fields[i].value = value;
    }
    return model->copy_ps != 0 && model->handover_ns != 0 && model->syscall_ns != 0 && model->pack_ps != 0;
}

static bool read_model(const char *name, model_host_t *model)
{
    char path[PATH_BYTES * 4];
    snprintf(path, sizeof(path), "%s/%s.txt", VBN_TEST_MODELS, name);
    FILE *file = fopen(path, "re");
    *model = (model_host_t){0};
    bool right = file != NULL && read_lines(file, model);
    if (!right)
        fprintf(stderr, "there is no cost model %s: no file %s, or not all figures in it\n", name, path);
    if (file != NULL)
        fclose(file);
    return right;
}

static bool write_file(const char *path, const model_host_t *model)
{
    if (measure_write(path, model) == VBN_OK)
        return true;
    fprintf(stderr, "cannot write the cost file %s: %s\n", path, err_text());
    return false;
}

bool write_model(const char *name, const char *path)
{
    model_host_t model;
    return read_model(name, &model) && write_file(path, &model);
}

static void path_of(const char *name, char *path)
{
    snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static bool choose(const char *name)
{
    char path[PATH_BYTES];
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(NAMES[i], name) != 0)
            continue;
        chosen = models[i];
        path_of(name, path);
        return setenv("VBN_PROTO_COST_FILE", path, 1) == 0;
    }
    fprintf(stderr, "there is no cost model '%s': near, far, slow\n", name);
    return false;
}

bool pin_models(void)
{
    const char *wanted = getenv("VERBENA_TEST_MODEL");
    char path[PATH_BYTES];
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return false;
    }
    pinned = true;
    for (size_t i = 0; i < COUNT; i++) {
        path_of(NAMES[i], path);
        if (!read_model(NAMES[i], &models[i]) || !write_file(path, &models[i]))
            return false;
    }
    return choose(wanted != NULL ? wanted : NAMES[0]);
}

void unpin_models(void)
{
    char path[PATH_BYTES];
    for (size_t i = 0; pinned && i < COUNT; i++) {
        path_of(NAMES[i], path);
        (void)unlink(path);
    }
    if (pinned)
        (void)rmdir(folder);
}

void pin_model(const char *name)
{
    if (!choose(name))
        abort();
}

model_host_t pinned_model(void)
{
    return pinned ? chosen : MODEL_HOST_DEFAULT;
}
