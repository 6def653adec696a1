// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Addresses of direct buffers without a native call each: the JDK keeps them in a field of Buffer, which sun.misc.Unsafe
 * (module jdk.unsupported) reads. Where that is not possible, the native call does it. Any thread.
 */
final class Raw {
    private static final MethodHandle GET_LONG; // (Object, long) -> long, null when not possible
    private static final long ADDRESS; // offset of Buffer.address

    static {
        MethodHandle getLong = null;
        long offset = 0;
        try {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Object unsafe = field.get(null);
            offset = (long) type.getMethod("objectFieldOffset", Field.class)
                .invoke(unsafe, Buffer.class.getDeclaredField("address"));
            getLong = MethodHandles.lookup()
                .findVirtual(type, "getLong", MethodType.methodType(long.class, Object.class, long.class)).bindTo(unsafe);
            ByteBuffer probe = ByteBuffer.allocateDirect(16);
            if ((long) getLong.invokeExact((Object) probe, offset) != Native.bufferAddress(probe, false)) {
                getLong = null;
            }
        } catch (Throwable e) { // another JDK
            getLong = null;
        }
        GET_LONG = getLong;
        ADDRESS = offset;
    }

    private Raw() {
    }

    /** Address of a direct buffer's first byte (position 0). */
    static long address(ByteBuffer direct) {
        if (GET_LONG == null) {
            return Native.bufferAddress(direct, false);
        }
        try {
            return (long) GET_LONG.invokeExact((Object) direct, ADDRESS);
        } catch (Throwable e) { // reading a long field throws nothing
            throw new IllegalStateException(e);
        }
    }
}
