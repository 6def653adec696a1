// SPDX-License-Identifier: Apache-2.0
// The messages of a fetch.
package org.verbena.spark.read;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/**
 * Little endian. A request's header is {version, 7 zero bytes, request id long}, its data a list of block names {length
 * short, bytes}. A reply's header is {version, 3 zero bytes, first int, request id long, count int}; its data is {length
 * int} for each of the count blocks from first, -1 for one that cannot be served here, then the blocks' bytes. A request
 * gets as many replies as the server likes. A reply of no blocks and without data says that the server has no memory for
 * the blocks that have not come yet.
 */
final class Wire {
    static final int REQUEST = 1;
    static final int REPLY = 2;
    static final int MAX_BLOCKS = 1 << 16;
    static final int MAX_REQUEST_BYTES = 8 << 20;
    static final int MAX_BLOCK_BYTES = 256 << 20;
    private static final byte VERSION = 1;
    private static final int REQUEST_HEADER = 16;
    private static final int REPLY_HEADER = 20;

    private Wire() {
    }

    /** The header of a reply. */
    record Reply(long request, int first, int count) {
    }

    static ByteBuffer requestHeader(long request) {
        return ByteBuffer.allocate(REQUEST_HEADER).order(ByteOrder.LITTLE_ENDIAN).put(0, VERSION).putLong(8, request);
    }

    static long request(ByteBuffer header) throws VbnException {
        ByteBuffer in = header.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() != REQUEST_HEADER || in.get(0) != VERSION) {
            throw new VbnException(VbnStatus.PROTOCOL, "malformed fetch request");
        }
        return in.getLong(8);
    }

    /** Bytes of a list of block names. */
    static int bytes(String[] blocks) {
        int size = 0;
        for (String block : blocks) {
            size += 2 + block.length();
        }
        return size;
    }

    /** Writes the list of block names into a buffer of {@link #bytes} bytes. */
    static ByteBuffer blocks(String[] blocks, ByteBuffer into) {
        ByteBuffer out = into.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        for (String block : blocks) {
            byte[] name = block.getBytes(StandardCharsets.ISO_8859_1);
            out.putShort((short) name.length).put(name);
        }
        return out.flip();
    }

    static String[] blocks(ByteBuffer data) throws VbnException {
        ByteBuffer in = data.slice().order(ByteOrder.LITTLE_ENDIAN);
        java.util.List<String> names = new java.util.ArrayList<>();
        try {
            while (in.hasRemaining()) {
                byte[] name = new byte[in.getShort() & 0xffff];
                in.get(name);
                names.add(new String(name, StandardCharsets.ISO_8859_1));
                if (names.size() > MAX_BLOCKS) {
                    throw new VbnException(VbnStatus.PROTOCOL, "a fetch request names too many blocks");
                }
            }
        } catch (BufferUnderflowException e) {
            throw new VbnException(VbnStatus.PROTOCOL, "malformed fetch request");
        }
        return names.toArray(new String[0]);
    }

    static ByteBuffer replyHeader(long request, int first, int count) {
        return ByteBuffer.allocate(REPLY_HEADER).order(ByteOrder.LITTLE_ENDIAN).put(0, VERSION).putInt(4, first)
            .putLong(8, request).putInt(16, count);
    }

    static Reply reply(ByteBuffer header) throws VbnException {
        ByteBuffer in = header.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() != REPLY_HEADER || in.get(0) != VERSION) {
            throw new VbnException(VbnStatus.PROTOCOL, "malformed fetch reply");
        }
        return new Reply(in.getLong(8), in.getInt(4), in.getInt(16));
    }
}
