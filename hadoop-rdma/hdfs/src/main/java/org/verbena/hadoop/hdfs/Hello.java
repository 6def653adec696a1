// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What a client says when it opens a stream: u8 version, u8 length, its address, u16 number, little endian. The address
 * stands in the DataNode's log lines where that of a TCP connection would; it proves nothing.
 */
final class Hello {
    /** The streams' service at a DataNode. */
    static final int SERVICE = 1;
    private static final int VERSION = 1;

    private Hello() {
    }

    static byte[] encode(InetSocketAddress client) {
        byte[] address = client.getAddress().getAddress();
        return ByteBuffer.allocate(4 + address.length).order(ByteOrder.LITTLE_ENDIAN).put((byte) VERSION)
            .put((byte) address.length).put(address).putShort((short) client.getPort()).array();
    }

    /** Reads what came from outside. */
    static InetSocketAddress decode(ByteBuffer hello) throws IOException {
        ByteBuffer in = hello.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() < 4 || in.get() != VERSION) {
            throw new IOException("malformed or newer hello of " + hello.remaining() + " bytes");
        }
        int length = in.get();
        if (length != 4 && length != 16 || in.remaining() != length + 2) {
            throw new IOException("hello with an address of " + length + " bytes");
        }
        byte[] address = new byte[length];
        in.get(address);
        return new InetSocketAddress(InetAddress.getByAddress(address), Short.toUnsignedInt(in.getShort()));
    }
}
