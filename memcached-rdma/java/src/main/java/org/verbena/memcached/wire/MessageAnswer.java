// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The header of an answer by message (../proto/message.h). Immutable.
 *
 * @param id number of the request
 * @param answer the rest
 */
public record MessageAnswer(int id, Answer answer) {
    private static final int HEAD = 32;
    private static final int ENTRY = 24;
    private static final Answer.Status[] STATUSES = Answer.Status.values();

    /** Told each entry of a list. */
    @FunctionalInterface
    public interface Entries {
        /**
         * One entry.
         *
         * @param index of the key in the list
         * @param value its bytes, valid during the call only
         */
        void entry(int index, ByteBuffer value, int flags, long cas);
    }

    /**
     * Reads a header.
     *
     * @param header all of its bytes
     * @throws ProtocolException when it is malformed
     */
    public static MessageAnswer parse(ByteBuffer header) throws ProtocolException {
        ByteBuffer in = header.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() != HEAD || Integer.compareUnsigned(in.getInt(4), STATUSES.length) >= 0) {
            throw new ProtocolException("an answer by message is malformed");
        }
        return new MessageAnswer(in.getInt(0),
            new Answer(STATUSES[in.getInt(4)], in.getInt(8), in.getLong(16), in.getLong(24), ""));
    }

    /**
     * Reads the entries of a list.
     *
     * @param data the data of the answer
     * @param keys entries of other keys than the first so many are refused
     * @param entries told each
     * @throws ProtocolException when the data is malformed; entries before that have been told
     */
    public static void entries(ByteBuffer data, long keys, Entries entries) throws ProtocolException {
        ByteBuffer in = data.slice().order(ByteOrder.LITTLE_ENDIAN);
        while (in.hasRemaining()) {
            int at = in.position();
            int left = in.remaining() - ENTRY;
            if (left < 0 || Integer.compareUnsigned(in.getInt(at + 16), left) > 0
                || (in.getInt(at) & 0xffffffffL) >= keys) {
                throw new ProtocolException("a list of values by message is malformed");
            }
            int length = in.getInt(at + 16);
            entries.entry(in.getInt(at), in.slice(at + ENTRY, length), in.getInt(at + 4), in.getLong(at + 8));
            in.position(at + ENTRY + length);
        }
    }
}
