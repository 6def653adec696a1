// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

/**
 * A value with what belongs to it. The caller owns the bytes.
 *
 * @param bytes the value
 * @param flags the flags that it was stored with
 * @param cas its CAS id, for {@link MemcachedClient#cas}
 */
public record Value(byte[] bytes, int flags, long cas) {
}
