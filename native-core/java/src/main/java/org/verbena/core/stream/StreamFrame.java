// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/**
 * What every message of the streams begins with, as message header; docs/wire.md, "Byte streams of the Java API".
 *
 * <pre>
 *   0  u8   type
 *   1  u8   flags: 1 = the sender opened the stream, 2 = (FIN) the sender reads no more,
 *           4 = (OPEN) the sender writes at once and wants no credit first
 *   2  u16  0
 *   4  u32  number of the stream, chosen by its opener
 *   8  u64  value
 *  16  u32  offset in the lent memory (LENT alone)
 *  20  u32  bytes there (LENT alone)
 * </pre>
 *
 * @param type one of the constants
 * @param flags a sum of FLAG constants
 * @param stream the stream's number
 * @param value OPEN, CREDIT: bytes that the receiver of the frame may send in total; DATA, LENT: place of the first byte; FIN:
 *     bytes sent in total; RESET: a REASON; LEND, MAPPED: bytes of the memory
 */
record StreamFrame(int type, int flags, int stream, long value) {
    /** Opens a stream; data: u16 service, then the hello. */
    static final int OPEN = 1;
    /** The next bytes are the message's data. */
    static final int DATA = 2;
    /** The receiver may send more; the first one accepts the stream. */
    static final int CREDIT = 3;
    /** No more data will come. */
    static final int FIN = 4;
    /** The stream has failed in both directions. */
    static final int RESET = 5;
    /** Of no stream: the sender lends memory; data: its key. */
    static final int LEND = 6;
    /** Of no stream: the memory that the receiver of the frame lends is mapped; LENT may be used from now on. */
    static final int MAPPED = 7;
    /** The next bytes lie in the memory that the sender lends, until a CREDIT says that they are read. */
    static final int LENT = 8;

    static final int FLAG_OPENER = 1;
    static final int FLAG_NO_READ = 2;
    static final int FLAG_AT_ONCE = 4;

    static final int REASON_REFUSED = 1;
    static final int REASON_PROTOCOL = 2;
    static final int REASON_FAILED = 3;

    static final int BYTES = 16;
    /** Of LENT. */
    static final int LENT_BYTES = 24;

    ByteBuffer encode() {
        return encode(BYTES).flip();
    }

    /** A LENT. */
    ByteBuffer encode(int offset, int length) {
        return encode(LENT_BYTES).putInt(offset).putInt(length).flip();
    }

    private ByteBuffer encode(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN).put((byte) type).put((byte) flags)
            .putShort((short) 0).putInt(stream).putLong(value);
    }

    /** Checks and reads a header that came from outside. */
    static StreamFrame decode(ByteBuffer header) throws VbnException {
        ByteBuffer in = header.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() != BYTES && (in.remaining() != LENT_BYTES || in.get(in.position()) != LENT)) {
            throw new VbnException(VbnStatus.PROTOCOL, "stream frame with a header of " + in.remaining() + " bytes");
        }
        int type = in.get();
        int flags = in.get();
        int zero = in.getShort();
        StreamFrame frame = new StreamFrame(type, flags, in.getInt(), in.getLong());
        int known = FLAG_OPENER | (type == FIN ? FLAG_NO_READ : type == OPEN ? FLAG_AT_ONCE : 0);
        if (type < OPEN || type > LENT || type == LENT && in.remaining() != LENT_BYTES - BYTES || zero != 0
            || (flags & ~known) != 0 || frame.value < 0) {
            throw new VbnException(VbnStatus.PROTOCOL, "malformed stream frame: type " + type + ", flags " + flags);
        }
        return frame;
    }

    boolean isFromOpener() {
        return (flags & FLAG_OPENER) != 0;
    }

    static String reason(long reason) {
        return switch ((int) Math.min(reason, Integer.MAX_VALUE)) {
            case REASON_REFUSED -> "the other side refused it: it has no such service, or too many streams";
            case REASON_PROTOCOL -> "the other side got frames that violate the protocol: use the same version on both sides";
            default -> "it failed at the other side";
        };
    }
}
