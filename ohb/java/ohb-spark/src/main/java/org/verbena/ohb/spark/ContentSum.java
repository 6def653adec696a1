// SPDX-License-Identifier: Apache-2.0
// Order-independent 128-bit checksum of a bag of records, so that two sides can be compared exactly.
package org.verbena.ohb.spark;

import java.io.Serializable;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Sum of two independent 64-bit hashes over all records, plus their number. Adding (not xor) keeps duplicates visible.
 * Not thread-safe: one instance per task, merged at the driver.
 */
public final class ContentSum implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long P1 = 0x9E3779B97F4A7C15L;
    private static final long P2 = 0xD6E8FEB86659FD93L;

    private long first;
    private long second;
    private long records;

    /** Adds one record of an integer key and a byte value (any length, not null). */
    public void add(long key, byte[] value) {
        long a = (key + 1) * P1;
        long b = (key + 2) * P2;
        int at = 0;
        for (; at + 8 <= value.length; at += 8) {
            long word = (long) LONGS.get(value, at);
            a = Long.rotateLeft(a ^ (word * P2), 29) * P1;
            b = Long.rotateLeft(b + word * P1, 31) * P2;
        }
        for (; at < value.length; at++) {
            a = Long.rotateLeft(a ^ (value[at] * P2), 29) * P1;
            b = Long.rotateLeft(b + value[at] * P1, 31) * P2;
        }
        addHashes(mix(a ^ value.length), mix(b + value.length));
    }

    /** Adds one record of two integers. */
    public void add(long key, long value) {
        long a = Long.rotateLeft((key + 1) * P1, 29) ^ value;
        long b = Long.rotateLeft((key + 2) * P2, 31) + value;
        addHashes(mix(a * P1), mix(b * P2));
    }

    /** Adds one record given as text, for example a row of a query. */
    public void add(String text) {
        add(0, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Adds all records of another sum; the order of merging does not matter. */
    public ContentSum merge(ContentSum other) {
        first += other.first;
        second += other.second;
        records += other.records;
        return this;
    }

    /** Number of records added. */
    public long records() {
        return records;
    }

    /** The checksum as 32 hexadecimal digits. */
    public String hex() {
        return String.format("%016x%016x", first, second);
    }

    private void addHashes(long a, long b) {
        first += a;
        second += b;
        records++;
    }

    private static long mix(long h) {
        long x = h;
        x = (x ^ (x >>> 33)) * 0xFF51AFD7ED558CCDL;
        x = (x ^ (x >>> 33)) * 0xC4CEB9FE1A85EC53L;
        return x ^ (x >>> 33);
    }
}
