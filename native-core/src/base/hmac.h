/* SPDX-License-Identifier: Apache-2.0
 * hmac.h - HMAC-SHA256 (RFC 2104, FIPS 180-4) by libcrypto, and a comparison in constant time. Any thread. */
#ifndef VBN_BASE_HMAC_H
#define VBN_BASE_HMAC_H

#include <stdbool.h>

#include "base/status.h"

#define HMAC_BYTES 32

vbn_status_t hmac_sha256(const uint8_t key[32], const void *data, size_t length, uint8_t mac[HMAC_BYTES]);
bool hmac_equal(const uint8_t a[HMAC_BYTES], const uint8_t b[HMAC_BYTES]);

#endif
