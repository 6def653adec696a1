// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.read;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The hash of the store's index (../../store/index.c). */
final class Hash {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private Hash() {
    }

    private static long fold(long a, long b) {
        long high = Math.multiplyHigh(a, b) + (a >> 63 & b) + (b >> 63 & a); // of the product without sign
        return a * b ^ high;
    }

    static long of(long seed, byte[] key) {
        long hash = seed ^ key.length * 0x9e3779b97f4a7c15L;
        int at = 0;
        for (; key.length - at > 8; at += 8) {
            hash = fold(hash ^ (long) LONG.get(key, at), 0xd6e8feb86659fd93L);
        }
        long word = 0;
        for (int i = key.length - 1; i >= at; i--) {
            word = word << 8 | key[i] & 0xff;
        }
        hash = fold(hash ^ word, 0xa0761d6478bd642fL);
        return fold(hash, 0xe7037ed1a0b428dbL ^ seed);
    }
}
