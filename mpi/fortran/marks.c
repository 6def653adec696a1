/* SPDX-License-Identifier: Apache-2.0
 * marks.c - the variables of Fortran that stand for addresses of C. A program has the same common block, and the loader binds
 * both names to the program's.
 */
#include "fortran.h"

fortran_marks_t vbnf_marks_;
