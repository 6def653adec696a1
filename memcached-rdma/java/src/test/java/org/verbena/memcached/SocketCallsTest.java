// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;

/** Each call on sockets of Verbena's server. */
class SocketCallsTest extends CallsTest {
    @Override
    ServerProcess startServer() throws IOException {
        return ServerProcess.verbena(folder);
    }

    @Override
    String options() {
        return ";carrier=sockets";
    }

    @Override
    String way() {
        return "TCP socket; no messages: carrier=sockets";
    }
}
