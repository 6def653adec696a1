// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A request as a message of the core (../proto/message.h). Little endian. */
public final class MessageRequest {
    /** Ids of active messages. */
    public static final int REQUEST = 1;
    /** Ids of active messages. */
    public static final int ANSWER = 2;
    /** Bytes before the key. */
    public static final int HEAD = 32;
    /** Bytes of a key that fit into the header; a longer one begins the data. */
    public static final int KEY_INLINE = 160;

    private static final int HAS_TTL = 1;
    private static final int HAS_COMPARE = 2;
    private static final int DECREMENT = 8;
    private static final int KEY_IN_DATA = 16;
    private static final int PINNED = 32;

    private MessageRequest() {
    }

    private static int op(Request.Kind kind) {
        return switch (kind) {
            case GET, GET_AND_TOUCH -> 1;
            case LIST -> 2;
            case PUT -> 3;
            case DELETE -> 4;
            case INCREMENT, DECREMENT -> 5;
            case TOUCH -> 6;
            case NOOP -> 7;
        };
    }

    private static int flags(Request request) {
        int flags = switch (request.kind()) {
            case GET_AND_TOUCH -> HAS_TTL;
            case DECREMENT -> DECREMENT;
            case PUT -> request.mode() == Request.Mode.CAS ? HAS_COMPARE : 0;
            default -> 0;
        };
        return flags | (request.key().length > KEY_INLINE ? KEY_IN_DATA : 0) | (request.pinned() ? PINNED : 0);
    }

    /**
     * Writes a header.
     *
     * @param request what is asked
     * @param number comes back with the answer
     * @param header has room for {@link #HEAD} and {@link #KEY_INLINE} bytes; ready to be read afterwards
     */
    public static void write(Request request, int number, ByteBuffer header) {
        long amount = request.kind() == Request.Kind.LIST ? request.keys().size() : request.number();
        header.clear().order(ByteOrder.LITTLE_ENDIAN);
        header.put((byte) op(request.kind())).put((byte) flags(request)).put((byte) request.mode().ordinal())
            .put((byte) request.key().length);
        header.putInt(number).putInt(request.flags()).putInt(request.ttl()).putLong(amount).putLong(0);
        if (request.key().length <= KEY_INLINE) {
            header.put(request.key());
        }
        header.flip();
    }

    /**
     * Bytes that come before the value.
     *
     * @param request what is asked
     * @return how many; 0: none
     */
    public static int dataBytes(Request request) {
        if (request.kind() == Request.Kind.LIST) {
            return request.keys().stream().mapToInt(key -> 1 + key.length).sum();
        }
        return request.key().length > KEY_INLINE ? request.key().length : 0;
    }

    /**
     * Writes what comes before the value.
     *
     * @param request what is asked
     * @param data has room for {@link #dataBytes}; ready to be read afterwards
     */
    public static void writeData(Request request, ByteBuffer data) {
        if (request.kind() == Request.Kind.LIST) {
            request.keys().forEach(key -> data.put((byte) key.length).put(key));
        } else {
            data.put(request.key());
        }
        data.flip();
    }
}
