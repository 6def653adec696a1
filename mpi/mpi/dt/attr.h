/* SPDX-License-Identifier: Apache-2.0
 * attr.h - attributes of datatypes.
 */
#ifndef VERBENA_MPI_DT_ATTR_H
#define VERBENA_MPI_DT_ATTR_H

#include "dt/dt.h"

/* As attr_copy_all and attr_delete_list; what was copied before a failure is deleted again. */
int dt_attr_copy(const dt_type_t *from, dt_type_t *to);
int dt_attr_delete_all(dt_type_t *type);

#endif
