/* SPDX-License-Identifier: Apache-2.0
 * md5.h - MD5 (RFC 1321), which ketama places servers and keys with; no protection of anything. */
#ifndef MC_CLIENT_MD5_H
#define MC_CLIENT_MD5_H

#include <stddef.h>
#include <stdint.h>

void md5(const void *bytes, size_t length, uint8_t digest[16]);

#endif
