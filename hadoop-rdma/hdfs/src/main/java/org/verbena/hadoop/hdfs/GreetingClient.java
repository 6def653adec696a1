// SPDX-License-Identifier: Apache-2.0
// How a client learns from a DataNode's host and port whether, and where, its engine is.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.verbena.core.greeting.Greeting;
import org.verbena.core.greeting.GreetingReader;

/** Asks with a socket and waits. */
final class GreetingClient {
    private static final int PART = 2048;

    private GreetingClient() {
    }

    /**
     * Asks for a greeting.
     *
     * @param at where a DataNode greets
     * @param timeoutMillis how long to wait for the connection, and for each part of the answer
     * @param asks told before each of the two
     * @throws IOException when there is none; EOFException when it ends early
     */
    static Greeting ask(InetSocketAddress at, int timeoutMillis, Runnable asks) throws IOException {
        try (Socket socket = new Socket()) {
            asks.run();
            socket.connect(at, timeoutMillis);
            asks.run();
            socket.setSoTimeout(timeoutMillis);
            return read(socket.getInputStream());
        }
    }

    private static Greeting read(InputStream in) throws IOException {
        GreetingReader reader = new GreetingReader(Hello.MESSAGES);
        byte[] part = new byte[PART];
        while (true) {
            int count = in.read(part);
            if (count < 0) {
                throw reader.ended();
            }
            Greeting greeting = reader.take(ByteBuffer.wrap(part, 0, count));
            if (greeting != null) {
                return greeting;
            }
        }
    }
}
