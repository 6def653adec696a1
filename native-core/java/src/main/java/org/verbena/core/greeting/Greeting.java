// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.greeting;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What a server says to a client that asks over TCP where its engine is. All big endian:
 *
 * <pre>
 *    0  4 letters  "VBNG"
 *    4  u16        version
 *    6  u16        bytes of the engine's address
 *    8  u16        message id of the streams
 *   10  u16        service
 *   12  16 bytes   token, for the stream that the client opens
 *   28             the engine's address
 * </pre>
 *
 * Letters, version and length keep their places in all versions. A greeting gives no right: the core's handshake proves the key,
 * and the token only names this TCP connection ({@link Greeter}). Arrays are the greeting's own.
 *
 * @param messages id of the messages that carry the server's streams: tells HDFS from a Netty transport
 * @param service of the streams
 * @param token 16 bytes
 * @param engine the engine's address, 1 to 1,024 bytes
 */
public record Greeting(int messages, int service, byte[] token, byte[] engine) {
    /** Bytes of a token. */
    public static final int TOKEN_BYTES = 16;
    /** Most bytes of an engine's address. */
    public static final int ENGINE_MAX = 1024;
    /** One for greeting and hello. */
    static final int VERSION = 4;
    private static final int FIXED_BYTES = 12 + TOKEN_BYTES;
    static final int MAX = FIXED_BYTES + ENGINE_MAX;
    private static final byte[] MAGIC = "VBNG".getBytes(StandardCharsets.US_ASCII);
    private static final int U16_MAX = 0xffff;

    /**
     * Writes it.
     *
     * @return the bytes, from position 0 to the limit
     * @throws IllegalArgumentException when one of its parts is out of bounds
     */
    public ByteBuffer encode() {
        if (engine.length == 0 || engine.length > ENGINE_MAX || token.length != TOKEN_BYTES || (messages & U16_MAX) != messages
                || (service & U16_MAX) != service) {
            throw new IllegalArgumentException("a greeting with an engine's address of " + engine.length + " bytes (1 to "
                + ENGINE_MAX + "), a token of " + token.length + ", messages " + messages + " and service " + service);
        }
        return ByteBuffer.allocate(FIXED_BYTES + engine.length).put(MAGIC).putShort((short) VERSION).putShort((short) engine.length)
            .putShort((short) messages).putShort((short) service).put(token).put(engine).flip();
    }

    /**
     * Reads a greeting that came from outside.
     *
     * @param bytes what has come so far; its position stays
     * @return null when more has to come
     * @throws IOException when it is no greeting, or one of another version
     */
    static Greeting decode(ByteBuffer bytes) throws IOException {
        ByteBuffer in = bytes.slice();
        for (int i = 0; i < MAGIC.length && i < in.limit(); i++) {
            if (in.get(i) != MAGIC[i]) {
                throw new IOException("another program than a Verbena server answers there: check host and port");
            }
        }
        if (in.limit() < 6) {
            return null;
        }
        int version = Short.toUnsignedInt(in.getShort(4));
        if (version != VERSION) {
            throw new IOException("the server speaks version " + version + " of the greeting, this process " + VERSION
                + ": use the same version of Verbena on both sides");
        }
        if (in.limit() < 8) {
            return null;
        }
        int length = Short.toUnsignedInt(in.getShort(6));
        if (length == 0 || length > ENGINE_MAX || in.limit() > FIXED_BYTES + length) {
            throw new IOException("a greeting of " + in.limit() + " bytes with an engine's address of " + length
                + ": another program than a Verbena server answers there, or the connection is damaged");
        }
        if (in.limit() < FIXED_BYTES + length) {
            return null;
        }
        byte[] token = new byte[TOKEN_BYTES];
        byte[] engine = new byte[length];
        in.position(12).get(token).get(engine);
        return new Greeting(Short.toUnsignedInt(in.getShort(8)), Short.toUnsignedInt(in.getShort(10)), token, engine);
    }
}
