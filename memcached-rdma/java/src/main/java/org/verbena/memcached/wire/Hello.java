// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Base64;

/**
 * A server's answer to the hello (../proto/hello.h). Nothing in it is secret or trusted: the core's handshake proves the key.
 *
 * @param devices the server has RDMA devices open
 * @param noAuth it runs with verbena_auth=none
 * @param user its user
 * @param address of its worker
 */
public record Hello(boolean devices, boolean noAuth, int user, byte[] address) {
    /** First word of the line, and a blank. */
    public static final String WORD = "vbn1 ";
    /** A server that has no messages answers with this, and the reason. */
    public static final String REFUSAL = "CLIENT_ERROR no messages: ";

    private static final int VERSION = 1;
    private static final int CLIENT_BYTES = 16;
    private static final int HEAD = 32;
    private static final int ADDRESS_MAX = 1024;
    private static final int KEY_MAX = 128;

    /**
     * The client's line, with its end.
     *
     * @param user of this process
     * @param process its number
     */
    public static String line(int user, int process) {
        ByteBuffer bytes = ByteBuffer.allocate(CLIENT_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(0, (byte) VERSION).putInt(4, user).putInt(8, process);
        return WORD + Base64.getEncoder().encodeToString(bytes.array()) + "\r\n";
    }

    /**
     * Reads a server's line.
     *
     * @param line without its end; begins with {@link #WORD}
     * @throws ProtocolException when it is malformed or of another version
     */
    public static Hello parse(String line) throws ProtocolException {
        byte[] bytes;
        try {
            bytes = Base64.getDecoder().decode(line.substring(WORD.length()));
        } catch (IllegalArgumentException e) {
            throw new ProtocolException("the server's hello is malformed");
        }
        if (bytes.length < HEAD || bytes[0] != VERSION) {
            throw new ProtocolException("the server's hello is of another version");
        }
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int addressBytes = in.getShort(2) & 0xffff;
        int keyBytes = in.get(4) & 0xff;
        if (addressBytes == 0 || addressBytes > ADDRESS_MAX || keyBytes > KEY_MAX
            || bytes.length != HEAD + addressBytes + keyBytes) {
            throw new ProtocolException("the server's hello is malformed");
        }
        int flags = in.get(1);
        return new Hello((flags & 1) != 0, (flags & 2) != 0, in.getInt(16), Arrays.copyOfRange(bytes, HEAD, HEAD + addressBytes));
    }
}
