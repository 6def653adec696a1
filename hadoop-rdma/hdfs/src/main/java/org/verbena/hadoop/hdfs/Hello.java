// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.verbena.core.greeting.Greeting;

/**
 * What a client says when it opens a stream: u8 version, the token of the DataNode's greeting, u16 number, u16 data port of the
 * DataNode that it means, little endian. A process may hold several DataNodes, which share an engine.
 *
 * @param token names the TCP connection of the greeting, whose address the DataNode takes for the client's
 * @param number stands in the DataNode's log lines where the port of a TCP connection would; it proves nothing
 * @param dataPort the DataNode's
 */
record Hello(byte[] token, int number, int dataPort) {
    /** The id of the streams' messages. */
    static final int MESSAGES = 40;
    /** The streams' service at a process with DataNodes. */
    static final int SERVICE = 1;
    private static final int VERSION = 2;
    private static final int LENGTH = 1 + Greeting.TOKEN_BYTES + 4;

    byte[] encode() {
        return ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN).put((byte) VERSION).put(token)
            .putShort((short) number).putShort((short) dataPort).array();
    }

    /** Reads what came from outside. */
    static Hello decode(ByteBuffer hello) throws IOException {
        ByteBuffer in = hello.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        int version = in.hasRemaining() ? Byte.toUnsignedInt(in.get()) : VERSION;
        if (version != VERSION) {
            throw new IOException("a hello of version " + version + ", this DataNode reads version " + VERSION
                + ": use the same jar for clients and DataNodes");
        }
        if (hello.remaining() != LENGTH) {
            throw new IOException("malformed hello of " + hello.remaining() + " bytes");
        }
        byte[] token = new byte[Greeting.TOKEN_BYTES];
        in.get(token);
        return new Hello(token, Short.toUnsignedInt(in.getShort()), Short.toUnsignedInt(in.getShort()));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Hello hello && Arrays.equals(hello.token, token) && hello.number == number
            && hello.dataPort == dataPort;
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(token);
    }

    @Override
    public String toString() {
        return "hello " + number + " to " + dataPort;
    }
}
