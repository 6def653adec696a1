// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

/**
 * What belongs to a value that lies in the caller's buffer.
 *
 * @param length bytes of the value
 * @param flags the flags that it was stored with
 * @param cas its CAS id, for {@link MemcachedClient#cas}
 */
public record Received(int length, int flags, long cas) {
}
