// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.nio.file.Path;

/** Servers that are silent, dead or new, by messages. */
class MessageFaultsTest extends FaultsTest {
    @Override
    String options() {
        return ";key=" + folder.resolve("a").resolve("memcached.key");
    }

    @Override
    ServerProcess startServer(Path place) throws IOException {
        return ServerProcess.verbena(place);
    }
}
