// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

/**
 * The end of a request. Immutable.
 *
 * @param status how it ended
 * @param flags the client's flags of the item
 * @param cas its CAS id
 * @param number the result of a difference, or how many keys of a list are answered
 * @param text what the server says of an error; empty: nothing
 */
public record Answer(Status status, int flags, long cas, long number, String text) {
    /** How a request ends; the order is that of message_code_t. */
    public enum Status { OK, NOT_FOUND, EXISTS, NOT_STORED, TOO_LARGE, NO_MEMORY, NON_NUMERIC, INVALID }

    /** An answer without more. */
    public static Answer of(Status status) {
        return new Answer(status, 0, 0, 0, "");
    }

    /** An error with the server's words. */
    public static Answer error(Status status, String text) {
        return new Answer(status, 0, 0, 0, text);
    }
}
