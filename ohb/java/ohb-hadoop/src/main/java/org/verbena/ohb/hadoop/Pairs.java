// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Bytes of keys and values. */
final class Pairs {
    static final int KEY_MIN = Integer.BYTES;
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final long PRIME = 0x9E3779B97F4A7C15L;

    private Pairs() {
    }

    static void putInt(byte[] bytes, int value) {
        INTS.set(bytes, 0, value);
    }

    static int getInt(byte[] bytes) {
        return (int) INTS.get(bytes, 0);
    }

    /** 32 bits of a hash: sums of many stay positive. */
    static long hash(byte[] bytes, int length) {
        long hash = length;
        for (int i = 0; i < length; i++) {
            hash = (hash ^ bytes[i]) * PRIME;
        }
        return hash >>> 32;
    }
}
