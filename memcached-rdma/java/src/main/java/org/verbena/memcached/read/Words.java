// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.read;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Loads of words that another process writes meanwhile, named by their order. */
final class Words {
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private Words() {
    }

    static int acquire32(ByteBuffer memory, int at) {
        return (int) INT.getAcquire(memory, at);
    }

    static long acquire64(ByteBuffer memory, int at) {
        return (long) LONG.getAcquire(memory, at);
    }

    static int opaque32(ByteBuffer memory, int at) {
        return (int) INT.getOpaque(memory, at);
    }

    static long opaque64(ByteBuffer memory, int at) {
        return (long) LONG.getOpaque(memory, at);
    }
}
