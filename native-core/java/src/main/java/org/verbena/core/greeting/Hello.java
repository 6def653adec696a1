// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.greeting;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What a client says first at a TCP port that has a protocol of its own: "VBNH" and a u16 version, big endian. At a port that is
 * there for greetings alone nobody reads it, and nobody has to say it.
 */
public final class Hello {
    /** Bytes of a hello. */
    public static final int BYTES = 6;
    private static final byte[] MAGIC = "VBNH".getBytes(StandardCharsets.US_ASCII);

    /** What the first bytes of a connection are. */
    public enum Verdict {
        /** More has to come to tell. */
        INCOMPLETE,
        /** A hello, of whatever version: a greeting answers it, and its client refuses another version with a clear text. */
        HELLO,
        /** The port's own protocol. */
        OTHER
    }

    private Hello() {
    }

    /** Returns a hello; the caller's own. */
    public static ByteBuffer encode() {
        return ByteBuffer.allocate(BYTES).put(MAGIC).putShort((short) Greeting.VERSION).flip();
    }

    /**
     * Looks at bytes that came from outside.
     *
     * @param bytes what has come so far; its position stays
     */
    public static Verdict look(ByteBuffer bytes) {
        int count = Math.min(bytes.remaining(), MAGIC.length);
        if (!bytes.slice(bytes.position(), count).equals(ByteBuffer.wrap(MAGIC, 0, count))) {
            return Verdict.OTHER;
        }
        return bytes.remaining() < BYTES ? Verdict.INCOMPLETE : Verdict.HELLO;
    }
}
