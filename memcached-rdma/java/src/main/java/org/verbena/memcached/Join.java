// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import org.verbena.core.KeyFile;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.memcached.wire.Hello;

/** From a server's hello to messages: the key, an engine of the core, the connection and a first answer. */
final class Join {
    private static final long READS_ALLOWED = 1;

    private final Server server;
    private final Loop loop;
    private final Nets nets;
    private final BoundedPool values;

    Join(Server server, Loop loop, Nets nets, BoundedPool values) {
        this.server = server;
        this.loop = loop;
        this.nets = nets;
        this.values = values;
    }

    /** Told what becomes of a join, each on the loop's thread. */
    interface Listener {
        /** The core connects. */
        void connecting(MessageCarrier carrier);

        /** The server has answered by message. */
        void joined(MessageCarrier carrier);

        /** There are no messages, or not any more. */
        void failed(MessageCarrier carrier, String why);
    }

    /** Begins, on a thread of its own: files are read, and the core may measure its costs. */
    void start(Hello hello, Listener listener) {
        Thread thread = new Thread(() -> {
            String why;
            try {
                connect(hello, listener);
                return;
            } catch (VbnException e) {
                why = e.text();
            } catch (IOException | RuntimeException | Error e) {
                why = e.getMessage() == null ? e.toString() : e.getMessage();
            }
            String cause = why;
            loop.execute(() -> listener.failed(null, cause));
        }, "verbena-memcached-join");
        thread.setDaemon(true);
        thread.start();
    }

    private void connect(Hello hello, Listener listener) throws IOException {
        byte[] key = hello.noAuth() ? null : KeyFile.read(KeyPlace.find(server.config.keyFile(), server.address));
        MessageCarrier carrier = new MessageCarrier(server, loop, nets.get(key, hello.noAuth(), hello.devices()), values);
        loop.execute(() -> listener.connecting(carrier));
        carrier.connect(hello.address(), () -> loop.execute(() -> listener.failed(carrier, carrier.why())), (reads, pageKey) -> {
            carrier.setWhy(reason(reads, hello));
            if (reads == READS_ALLOWED && server.config.onesided() && pageKey.length > 0) {
                carrier.read(pageKey);
            }
            loop.execute(() -> listener.joined(carrier));
        });
    }

    /** Why gets are one-sided, or not. */
    private String reason(long reads, Hello hello) {
        if (!server.config.onesided()) {
            return "onesided=off";
        }
        return switch ((int) Math.min(reads, 5)) {
            case 1 -> "gets are one-sided";
            case 2 -> "one-sided reads are off at the server";
            case 3 -> "one-sided reads are for the server's own user, " + Integer.toUnsignedString(hello.user())
                + "; -o verbena_onesided=on at the server allows them to all with the key";
            case 4 -> "one-sided reads go over shared memory only";
            default -> "";
        };
    }
}
