// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Each call by messages. */
class MessageCallsTest extends CallsTest {
    @Override
    ServerProcess startServer() throws IOException {
        return ServerProcess.verbena(folder);
    }

    @Override
    String options() {
        return ";carrier=messages;onesided=off;key=" + server().keyFile();
    }

    @Override
    String way() {
        return "messages through the core (onesided=off); ";
    }

    @Test
    void no_answer_comes_on_the_socket() throws Exception {
        client.set("key", bytes("value"));
        client.get("key");
        assertEquals(0, client.cluster().counters.sockets.sum());
        assertTrue(client.cluster().counters.messages.sum() >= 2);
    }
}
