// SPDX-License-Identifier: Apache-2.0
// Stands between a client and a DataNode, and breaks or falsifies connections at chosen bytes.
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.net.StandardSocketFactory;

/** What it does is set before the first connection. */
final class Middleman implements AutoCloseable {
    private static final int PART = 8192;
    private static final Map<Integer, Middleman> BY_PORT = new ConcurrentHashMap<>();

    private final ServerSocket server = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
    private final int port;
    /** How many connections it troubles; later ones it passes on. */
    private final AtomicInteger troubled;
    private final AtomicInteger connections = new AtomicInteger();
    /** Bytes to the DataNode, and from it, after which a connection ends. */
    private long requests = Long.MAX_VALUE;
    private long answers = Long.MAX_VALUE;
    /** Which byte from the DataNode is another one. */
    private long falseByte = -1;
    /** What it answers itself, without the DataNode; null: nothing. */
    private byte[] answer;

    /** Stands before the DataNode of a port for the sockets of {@link Factory}. */
    Middleman(int port, int troubled) throws IOException {
        this.port = port;
        this.troubled = new AtomicInteger(troubled);
        BY_PORT.put(port, this);
        start(() -> {
            while (true) {
                pass(server.accept());
            }
        });
    }

    Middleman endAfterRequests(long bytes) {
        requests = bytes;
        return this;
    }

    Middleman endAfterAnswers(long bytes) {
        answers = bytes;
        return this;
    }

    Middleman falsify(long position) {
        falseByte = position;
        return this;
    }

    Middleman answer(byte[] bytes) {
        answer = bytes;
        return this;
    }

    int connections() {
        return connections.get();
    }

    private void pass(Socket client) throws IOException {
        connections.incrementAndGet();
        boolean trouble = troubled.getAndDecrement() > 0;
        if (trouble && answer != null) {
            start(() -> swallow(client));
            client.getOutputStream().write(answer);
            return;
        }
        Socket dataNode = new Socket(InetAddress.getLoopbackAddress(), port);
        start(() -> copy(client, dataNode, trouble ? requests : Long.MAX_VALUE, -1));
        start(() -> copy(dataNode, client, trouble ? answers : Long.MAX_VALUE, trouble ? falseByte : -1));
    }

    private static void swallow(Socket client) throws IOException {
        try (client; InputStream in = client.getInputStream()) {
            in.transferTo(OutputStream.nullOutputStream());
        }
    }

    private static void copy(Socket from, Socket to, long limit, long falseByte) throws IOException {
        try (from; to; InputStream in = from.getInputStream(); OutputStream out = to.getOutputStream()) {
            byte[] part = new byte[PART];
            for (long done = 0; done < limit;) {
                int count = in.read(part, 0, (int) Math.min(part.length, limit - done));
                if (count < 0) {
                    return;
                }
                if (falseByte >= done && falseByte < done + count) {
                    part[(int) (falseByte - done)] ^= 1;
                }
                out.write(part, 0, count);
                done += count;
            }
        }
    }

    /** Something that ends with its socket. */
    @FunctionalInterface
    private interface Relay {
        void run() throws IOException;
    }

    private static void start(Relay relay) {
        Thread thread = new Thread(() -> {
            try {
                relay.run();
            } catch (IOException e) {
                return; // a socket was closed
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        BY_PORT.remove(port);
        server.close();
    }

    /** Sockets of a client, which meet the middlemen: by hadoop.rpc.socket.factory.class.ClientProtocol. */
    public static final class Factory extends StandardSocketFactory {
        /** Hadoop makes it by reflection. */
        public Factory() {
        }

        @Override
        public Socket createSocket() {
            return new Socket() {
                @Override
                public void connect(SocketAddress to, int timeout) throws IOException {
                    Middleman between = BY_PORT.get(((InetSocketAddress) to).getPort());
                    super.connect(between == null ? to : between.server.getLocalSocketAddress(), timeout);
                }
            };
        }
    }
}
