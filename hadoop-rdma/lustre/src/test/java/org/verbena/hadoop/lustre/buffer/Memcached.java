// SPDX-License-Identifier: Apache-2.0
// A memcached server of the burst buffer, with the number of its pinned items.
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.verbena.memcached.ServerProcess;

/** Verbena's, or another one. It ends with {@link #close}. */
final class Memcached implements AutoCloseable {
    private final ServerProcess server;

    private Memcached(ServerProcess server) {
        this.server = server;
    }

    static Memcached start(Path folder, String... options) throws IOException {
        List<String> all = new ArrayList<>(List.of("-t", "1"));
        all.addAll(List.of(options));
        return new Memcached(ServerProcess.plain(folder, all.toArray(String[]::new)));
    }

    static Memcached stock(Path folder) throws IOException {
        return new Memcached(ServerProcess.stock(folder));
    }

    String address() {
        return server.address();
    }

    /** Items that only their release or deletion ends. */
    int pinned() throws IOException {
        int port = Integer.parseInt(address().replaceAll(".*:", ""));
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write("stats verbena\r\nquit\r\n".getBytes(StandardCharsets.US_ASCII));
            String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return Integer.parseInt(all.replaceAll("(?s).*STAT pinned_items (\\d+).*", "$1"));
        }
    }

    void kill() throws InterruptedException {
        server.kill();
    }

    /** An empty server on the same port. */
    void restart() throws IOException {
        server.restart();
    }

    @Override
    public void close() {
        server.close();
    }
}
