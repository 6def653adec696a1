// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** A server that answers each line as a test wants it; null: not at all, "close": by closing. */
final class ScriptedServer implements AutoCloseable {
    final AtomicInteger accepted = new AtomicInteger();
    /** Connections that the client has not closed. */
    final AtomicInteger open = new AtomicInteger();
    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final Function<String, String> script;

    ScriptedServer(Function<String, String> script) throws IOException {
        this.script = script;
        run(this::accept);
    }

    /** Knows meta commands and no messages, and has one answer to all requests. */
    static ScriptedServer answering(String answer) throws IOException {
        return new ScriptedServer(line -> line.equals("mn") ? "MN\r\n" : line.startsWith("vbn1") ? "ERROR\r\n" : answer);
    }

    private static void run(Runnable task) {
        Thread thread = new Thread(task, "scripted-server");
        thread.setDaemon(true);
        thread.start();
    }

    String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listener.accept();
                sockets.add(socket);
                open.incrementAndGet();
                accepted.incrementAndGet();
                run(() -> serve(socket));
            }
        } catch (IOException e) {
            open.addAndGet(0); // closed
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            InputStream in = socket.getInputStream();
            StringBuilder line = new StringBuilder();
            for (int at = in.read(); at >= 0; at = in.read()) {
                if (at != '\n') {
                    line.append((char) at);
                    continue;
                }
                String answer = script.apply(line.toString().strip());
                line.setLength(0);
                if ("close".equals(answer)) {
                    return;
                }
                if (answer != null) {
                    socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
                }
            }
        } catch (IOException e) {
            return; // the client has closed
        } finally {
            open.decrementAndGet();
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
