// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What a server says to everybody who connects to its TCP address or, where that address has another protocol, to who begins
 * with a hello: four letters "VBNH" and a u16 version. All big endian:
 *
 * <pre>
 *    0  4 letters  "VBNN"
 *    4  u16        version
 *    6  u16        bytes of the engine's address
 *    8  u16        service
 *   10  16 bytes   token, the hello of the stream that the client opens
 *   26             the engine's address
 * </pre>
 *
 * The token lets the server know the TCP addresses of who opens the stream. It is no proof of the job key: the core's
 * handshake is. Arrays are the greeting's own.
 */
record Greeting(int service, byte[] token, byte[] engine) {
    static final int TOKEN_BYTES = 16;
    static final int ENGINE_MAX = 1024;
    private static final int FIXED_BYTES = 26;
    /** Most bytes of a greeting. */
    static final int MAX = FIXED_BYTES + ENGINE_MAX;
    private static final byte[] MAGIC = "VBNN".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    static final int HELLO_BYTES = 6;
    private static final byte[] HELLO = "VBNH".getBytes(StandardCharsets.US_ASCII);

    /** What a client says first. */
    static ByteBuffer hello() {
        return ByteBuffer.allocate(HELLO_BYTES).put(HELLO).putShort((short) VERSION).flip();
    }

    /** Whether what has come so far is a hello, whatever its version, or can become one. */
    static boolean mayBeHello(ByteBuffer bytes) {
        int count = Math.min(bytes.remaining(), HELLO.length);
        return bytes.slice(bytes.position(), count).equals(ByteBuffer.wrap(HELLO, 0, count));
    }

    ByteBuffer encode() {
        if (engine.length == 0 || engine.length > ENGINE_MAX || token.length != TOKEN_BYTES) {
            throw new IllegalArgumentException("a greeting with an engine's address of " + engine.length
                + " bytes and a token of " + token.length);
        }
        return ByteBuffer.allocate(FIXED_BYTES + engine.length).put(MAGIC).putShort((short) VERSION)
            .putShort((short) engine.length).putShort((short) service).put(token).put(engine).flip();
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
                throw new IOException("something else than a Verbena server answers there: check host and port");
            }
        }
        if (in.limit() < 8) {
            return null;
        }
        int version = Short.toUnsignedInt(in.getShort(4));
        int length = Short.toUnsignedInt(in.getShort(6));
        if (version != VERSION) {
            throw new IOException("the server speaks version " + version + " of the greeting, this process " + VERSION
                + ": use the same version of verbena-netty on both sides");
        }
        if (length == 0 || length > ENGINE_MAX || in.limit() > FIXED_BYTES + length) {
            throw new IOException("a greeting of " + in.limit() + " bytes with an engine's address of " + length);
        }
        if (in.limit() < FIXED_BYTES + length) {
            return null;
        }
        byte[] token = new byte[TOKEN_BYTES];
        byte[] engine = new byte[length];
        in.position(10).get(token).get(engine);
        return new Greeting(Short.toUnsignedInt(in.getShort(8)), token, engine);
    }
}
