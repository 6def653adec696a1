// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What a client says when it opens a stream: u8 version, u8 length, its address, u16 number, u16 data port of the DataNode
 * that it means, little endian. A process may hold several DataNodes, which share an engine.
 *
 * @param client stands in the DataNode's log lines where the address of a TCP connection would; it proves nothing
 * @param dataPort the DataNode's
 */
record Hello(InetSocketAddress client, int dataPort) {
    /** The streams' service at a process with DataNodes. */
    static final int SERVICE = 1;
    private static final int VERSION = 1;
    private static final int FIXED = 6;

    byte[] encode() {
        byte[] address = client.getAddress().getAddress();
        return ByteBuffer.allocate(FIXED + address.length).order(ByteOrder.LITTLE_ENDIAN).put((byte) VERSION)
            .put((byte) address.length).put(address).putShort((short) client.getPort()).putShort((short) dataPort).array();
    }

    /** Reads what came from outside. */
    static Hello decode(ByteBuffer hello) throws IOException {
        ByteBuffer in = hello.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() < FIXED || in.get() != VERSION) {
            throw new IOException("malformed or newer hello of " + hello.remaining() + " bytes");
        }
        int length = in.get();
        if (length != 4 && length != 16 || in.remaining() != length + 4) {
            throw new IOException("hello with an address of " + length + " bytes");
        }
        byte[] address = new byte[length];
        in.get(address);
        InetSocketAddress client = new InetSocketAddress(InetAddress.getByAddress(address), Short.toUnsignedInt(in.getShort()));
        return new Hello(client, Short.toUnsignedInt(in.getShort()));
    }
}
