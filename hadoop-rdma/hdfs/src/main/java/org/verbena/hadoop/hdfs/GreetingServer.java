// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.plugin.PluginSetting;

/**
 * One thread that sends the greeting to whoever connects, and closes. It reads nothing, so nobody can keep it waiting; an answer
 * fits into the socket's buffer, so writing never waits.
 */
final class GreetingServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GreetingServer.class);
    private static final int BACKLOG = 512;
    private static final long CLOSE_MILLIS = 10_000;

    private final ServerSocket server;
    private final Greeter<InetAddress> greeter;
    private final Thread thread;

    /**
     * Listens.
     *
     * @param greeter gives the greetings, and is told the client's address
     * @throws IOException when the port is taken, with the cure
     */
    GreetingServer(InetSocketAddress at, Greeter<InetAddress> greeter) throws IOException {
        this.greeter = greeter;
        server = new ServerSocket();
        try {
            server.setReuseAddress(true);
            server.bind(at, BACKLOG);
        } catch (IOException e) {
            server.close();
            throw new IOException("cannot listen for greetings on " + at + " (" + e.getMessage() + "): set "
                + PluginSetting.HDFS_PORT_OFFSET + " so that data port + offset is free, the same for all", e);
        }
        thread = new Thread(this::run, "verbena-greeting");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        while (!server.isClosed()) {
            try (Socket client = server.accept()) {
                client.getOutputStream().write(greeter.greet(client.getInetAddress()).encode().array());
            } catch (IOException e) {
                LOG.debug("greeting: {}", e.toString()); // the client went away, or this is the end
                pauseAfter();
            }
        }
    }

    /** Without file descriptors accept fails at once and again: not more often than this. */
    private void pauseAfter() {
        try {
            Thread.sleep(server.isClosed() ? 0 : 10);
        } catch (InterruptedException e) {
            close();
        }
    }

    /** Ends the thread, too: the kernel keeps the port while one is in accept. */
    @Override
    public void close() {
        try {
            server.close();
            if (Thread.currentThread() != thread) {
                thread.join(CLOSE_MILLIS);
            }
        } catch (IOException e) {
            LOG.debug("greeting: {}", e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
