/* SPDX-License-Identifier: Apache-2.0
 * attr_value.h - values of attributes that Fortran has set. C gets a pointer to such a value (MPI 19.3.7), so each has a place;
 * where C has set an attribute, Fortran gets the pointer as an integer.
 *
 * V1. A value of a key of Fortran ends with its attribute; one of a key of C stays, for only C's function sees its end.
 */
#ifndef VERBENA_FORTRAN_ATTR_VALUE_H
#define VERBENA_FORTRAN_ATTR_VALUE_H

#include <stdbool.h>

#include "fortran.h"

/* NULL: no memory. */
MPI_Aint *attr_value_make(MPI_Aint value) FORTRAN_HIDDEN;
/* Fortran has set it. */
bool attr_value_is(const void *pointer) FORTRAN_HIDDEN;
/* Of any attribute: what Fortran gets. */
MPI_Aint attr_value_get(const void *pointer) FORTRAN_HIDDEN;
/* Does nothing where C has set the attribute. */
void attr_value_end(void *pointer) FORTRAN_HIDDEN;

#endif
