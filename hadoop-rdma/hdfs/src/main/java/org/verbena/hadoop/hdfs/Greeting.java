// SPDX-License-Identifier: Apache-2.0
// How a client learns from a DataNode's host and port whether, and where, its engine is.
package org.verbena.hadoop.hdfs;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What a DataNode says to everybody who connects to its greeting port: four letters, u16 version, a ticket, u16 length, the
 * engine's address, all big endian; then it closes. It reads nothing, so nobody can keep it waiting. It gives no right: the
 * core's handshake proves the key, and the ticket only names this connection.
 *
 * @param ticket for the client's first stream ({@link Tickets})
 * @param address the engine's
 */
record Greeting(byte[] ticket, byte[] address) {
    static final int MAX_ADDRESS = 1024;
    private static final byte[] MAGIC = "VBNG".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 3;

    byte[] encode() throws IOException {
        if (address.length == 0 || address.length > MAX_ADDRESS) {
            throw new IOException("an engine's address of " + address.length + " bytes, at most " + MAX_ADDRESS);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.write(MAGIC);
        out.writeShort(VERSION);
        out.write(ticket);
        out.writeShort(address.length);
        out.write(address);
        return bytes.toByteArray();
    }

    /**
     * Reads a greeting.
     *
     * @throws IOException when it is none, or of another version; EOFException when it ends early
     */
    static Greeting decode(DataInputStream in) throws IOException {
        byte[] magic = new byte[MAGIC.length];
        in.readFully(magic);
        if (!Arrays.equals(magic, MAGIC)) {
            throw new IOException("something else answers there");
        }
        int version = in.readUnsignedShort();
        if (version != VERSION) {
            throw new IOException("its hadoop-rdma speaks version " + version + " of the greeting, this one " + VERSION
                + ": use the same jar");
        }
        byte[] ticket = new byte[Tickets.BYTES];
        in.readFully(ticket);
        int length = in.readUnsignedShort();
        if (length == 0 || length > MAX_ADDRESS) {
            throw new IOException("a greeting with an address of " + length + " bytes");
        }
        byte[] address = new byte[length];
        in.readFully(address);
        return new Greeting(ticket, address);
    }

    /**
     * Asks for a greeting.
     *
     * @param timeoutMillis how long to wait for connection and answer, each
     * @param asks told before each of the two
     */
    static Greeting ask(InetSocketAddress greeting, int timeoutMillis, Runnable asks) throws IOException {
        try (Socket socket = new Socket()) {
            asks.run();
            socket.connect(greeting, timeoutMillis);
            asks.run();
            socket.setSoTimeout(timeoutMillis);
            return decode(new DataInputStream(socket.getInputStream()));
        }
    }
}
