/* SPDX-License-Identifier: Apache-2.0
 * pin.h - given costs for the cost model of whatever a test opens, in place of what it would measure of this host. */
#ifndef VBN_TESTS_MODELS_PIN_H
#define VBN_TESTS_MODELS_PIN_H

#include <stdbool.h>

#include "proto/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the given models as cost files of this host, in a directory that unpin_models removes, and chooses the one that
 * VERBENA_TEST_MODEL names, near without it. False: a line on stderr says why not. */
bool pin_models(void);
void unpin_models(void);

/* From here on contexts of this process, and of the children that it forks, are opened with this model: near, far or slow.
 * For a test that needs a certain one; ends the process when there is no such model. */
void pin_model(const char *name);

/* The figures that are chosen; the built-in ones in a program that has not called pin_models. */
model_host_t pinned_model(void);

/* Writes one of the models as the cost file `path`; its directory must be private. False: as above. */
bool write_model(const char *name, const char *path);

#ifdef __cplusplus
}
#endif
#endif
