// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * What a client says when it opens a stream: u8 version, the ticket of the DataNode's greeting, u16 number, u16 data port of the
 * DataNode that it means, little endian. A process may hold several DataNodes, which share an engine.
 *
 * @param ticket names the TCP connection of the greeting, whose address the DataNode takes for the client's ({@link Tickets})
 * @param number stands in the DataNode's log lines where the port of a TCP connection would; it proves nothing
 * @param dataPort the DataNode's
 */
record Hello(byte[] ticket, int number, int dataPort) {
    /** The streams' service at a process with DataNodes. */
    static final int SERVICE = 1;
    private static final int VERSION = 2;
    private static final int LENGTH = 1 + Tickets.BYTES + 4;

    byte[] encode() {
        return ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN).put((byte) VERSION).put(ticket)
            .putShort((short) number).putShort((short) dataPort).array();
    }

    /** Reads what came from outside. */
    static Hello decode(ByteBuffer hello) throws IOException {
        ByteBuffer in = hello.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() != LENGTH || in.get() != VERSION) {
            throw new IOException("malformed hello of " + hello.remaining() + " bytes, or of another version: use the same jar");
        }
        byte[] ticket = new byte[Tickets.BYTES];
        in.get(ticket);
        return new Hello(ticket, Short.toUnsignedInt(in.getShort()), Short.toUnsignedInt(in.getShort()));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Hello hello && Arrays.equals(hello.ticket, ticket) && hello.number == number
            && hello.dataPort == dataPort;
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(ticket);
    }

    @Override
    public String toString() {
        return "hello " + number + " to " + dataPort;
    }
}
