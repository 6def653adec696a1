// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import org.verbena.memcached.config.ServerAddress;

/**
 * The addresses of a name, asked for by a thread of its own: a name server may take long. A server has one at a time, which the
 * next attempts to connect share. The loop's thread, but for the question.
 */
final class Lookup {
    private final Loop loop;
    private final ServerAddress server;
    /** Who waits for the answer; null: nobody. */
    private BiConsumer<List<SocketAddress>, String> told;
    private boolean answered;

    Lookup(Loop loop, ServerAddress server) {
        this.loop = loop;
        this.server = server;
        Thread thread = new Thread(this::ask, "verbena-memcached-lookup");
        thread.setDaemon(true);
        thread.start();
    }

    /** The answer came; the next attempt asks again. */
    boolean isAnswered() {
        return answered;
    }

    /** Tells the addresses, or why there are none; instead of the one that waited before. */
    void tell(BiConsumer<List<SocketAddress>, String> who) {
        told = who;
    }

    private void ask() {
        List<SocketAddress> addresses = List.of();
        String why = null;
        try {
            addresses = server.isPath() ? List.of(UnixDomainSocketAddress.of(server.host()))
                : Arrays.stream(InetAddress.getAllByName(server.host()))
                    .map(address -> (SocketAddress) new InetSocketAddress(address, server.port())).toList();
        } catch (UnknownHostException | RuntimeException e) {
            why = "cannot resolve '" + server.host() + "': " + e.getMessage();
        }
        List<SocketAddress> found = addresses;
        String error = why;
        loop.execute(() -> {
            answered = true;
            if (told != null) {
                told.accept(found, error);
            }
        });
    }
}
