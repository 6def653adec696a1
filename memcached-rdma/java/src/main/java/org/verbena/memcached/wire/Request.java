// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

import java.util.List;

/**
 * A request without its value. Immutable; nobody changes the arrays.
 *
 * @param kind what is asked
 * @param mode of a put
 * @param key its bytes; empty for LIST and NOOP
 * @param keys of LIST; else empty
 * @param ttl seconds, as memcached takes them
 * @param flags the client's flags of a put
 * @param number a difference, or the CAS id to compare
 * @param pinned a put pins its item; a delete releases the item, which stays
 */
public record Request(Kind kind, Mode mode, byte[] key, List<byte[]> keys, int ttl, int flags, long number, boolean pinned) {
    /** What is asked. */
    public enum Kind { GET, GET_AND_TOUCH, LIST, PUT, DELETE, INCREMENT, DECREMENT, TOUCH, NOOP }

    /** How a put stores; the order is that of put_mode_t. */
    public enum Mode { SET, ADD, REPLACE, APPEND, PREPEND, CAS }

    /** Most bytes of a key. */
    public static final int KEY_MAX = 250;
    /** Most keys of a list. */
    public static final int LIST_MAX = 1024;
    /** Most bytes of the keys of a list, with a byte for each length. */
    public static final int LIST_BYTES = 3584;

    private static final byte[] NO_KEY = {};

    /** A request that names one key and has neither value nor number. */
    public static Request of(Kind kind, byte[] key, int ttl) {
        return new Request(kind, Mode.SET, key, List.of(), ttl, 0, 0, false);
    }

    /** A get of several keys; at most {@link #LIST_MAX}, and {@link #LIST_BYTES}. */
    public static Request list(List<byte[]> keys) {
        return new Request(Kind.LIST, Mode.SET, NO_KEY, List.copyOf(keys), 0, 0, 0, false);
    }

    /** A request that only wants an answer. */
    public static Request noop() {
        return new Request(Kind.NOOP, Mode.SET, NO_KEY, List.of(), 0, 0, 0, false);
    }

    /** A put; compare: the CAS id of {@link Mode#CAS}. */
    public static Request put(Mode mode, byte[] key, int ttl, int flags, long compare) {
        return new Request(Kind.PUT, mode, key, List.of(), ttl, flags, compare, false);
    }

    /** The same, of an item that the server keeps until its release. */
    public Request pin() {
        return new Request(kind, mode, key, keys, ttl, flags, number, true);
    }

    /** Ends the pin of an item, which stays. */
    public static Request release(byte[] key) {
        return of(Kind.DELETE, key, 0).pin();
    }

    /** An increment or a decrement. */
    public static Request delta(Kind kind, byte[] key, long difference) {
        return new Request(kind, Mode.SET, key, List.of(), 0, 0, difference, false);
    }

    /** Whether it may change the item of its key. */
    public boolean isWrite() {
        return switch (kind) {
            case PUT, DELETE, INCREMENT, DECREMENT, TOUCH, GET_AND_TOUCH -> true;
            default -> false;
        };
    }

    /**
     * Whether memcached's text protocol can name a key.
     *
     * @param key its bytes
     */
    public static boolean isKey(byte[] key) {
        if (key.length == 0 || key.length > KEY_MAX) {
            return false;
        }
        for (byte at : key) {
            if ((at & 0xff) <= ' ' || at == 127) {
                return false;
            }
        }
        return true;
    }
}
