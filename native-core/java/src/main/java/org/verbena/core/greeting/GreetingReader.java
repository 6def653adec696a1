// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.greeting;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;

/** The client's side: makes a greeting of the bytes of one TCP connection, however they are cut. One thread at a time. */
public final class GreetingReader {
    private final int messages;
    /** One more than a greeting has, so that what is too long is seen. */
    private final ByteBuffer received = ByteBuffer.allocate(Greeting.MAX + 1);

    /**
     * Begins without any bytes.
     *
     * @param messages id of the messages that carry the streams which the client will open
     */
    public GreetingReader(int messages) {
        this.messages = messages;
    }

    /**
     * Takes the next bytes.
     *
     * @param bytes what has come; its position moves on, and what is left at the end belongs to no greeting
     * @return the greeting; null when more has to come
     * @throws IOException when this will be no greeting, or one of another version or for other clients; the text has the cure
     */
    public Greeting take(ByteBuffer bytes) throws IOException {
        int count = Math.min(bytes.remaining(), received.remaining());
        received.put(bytes.slice(bytes.position(), count));
        bytes.position(bytes.position() + count);
        Greeting greeting = Greeting.decode(received.duplicate().flip());
        if (greeting != null && greeting.messages() != messages) {
            throw new IOException("a Verbena server of another kind answers there (its streams are messages " + greeting.messages()
                + ", those wanted " + messages + "): check host and port");
        }
        return greeting;
    }

    /** Returns why there is no greeting when the connection has ended; to be thrown. */
    public EOFException ended() {
        return new EOFException("the connection ended before a greeting came" + (received.position() == 0 ? ""
            : ", after " + received.position() + " bytes of one") + ": the server is ending or too busy, or another program "
            + "answers there");
    }
}
