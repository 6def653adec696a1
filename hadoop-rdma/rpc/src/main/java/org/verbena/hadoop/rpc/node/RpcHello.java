// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.rpc.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.verbena.core.greeting.Greeting;

/**
 * What a client says when it opens a stream: u8 version, the token of the server's greeting, u16 number, u16 port of the server
 * that it calls, little endian.
 *
 * @param token names the call that asked for the greeting, whose address the server takes for the client's
 * @param number stands where the port of a TCP connection would, in log lines and audits; it proves nothing
 * @param port the server's, which the client knows it by
 */
public record RpcHello(byte[] token, int number, int port) {
    /** The id of the streams' messages. */
    public static final int MESSAGES = 42;
    /** The streams' service. */
    public static final int SERVICE = 1;
    private static final int VERSION = 1;
    private static final int LENGTH = 1 + Greeting.TOKEN_BYTES + 4;

    /** Writes it. */
    public byte[] encode() {
        return ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN).put((byte) VERSION).put(token)
            .putShort((short) number).putShort((short) port).array();
    }

    /**
     * Reads what came from outside.
     *
     * @throws IOException when it is none, or of another version
     */
    public static RpcHello decode(ByteBuffer hello) throws IOException {
        ByteBuffer in = hello.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        int version = in.hasRemaining() ? Byte.toUnsignedInt(in.get()) : VERSION;
        if (version != VERSION) {
            throw new IOException("a hello of version " + version + ", this server reads version " + VERSION
                + ": use the same jar for clients and servers");
        }
        if (hello.remaining() != LENGTH) {
            throw new IOException("malformed hello of " + hello.remaining() + " bytes");
        }
        byte[] token = new byte[Greeting.TOKEN_BYTES];
        in.get(token);
        return new RpcHello(token, Short.toUnsignedInt(in.getShort()), Short.toUnsignedInt(in.getShort()));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RpcHello hello && Arrays.equals(hello.token, token) && hello.number == number
            && hello.port == port;
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(token);
    }

    @Override
    public String toString() {
        return "hello " + number + " to " + port;
    }
}
