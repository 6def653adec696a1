// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;

/** A call that failed. The message names the server, the cause and, where there is one, the cure. */
public class MemcachedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Kinds of failure. */
    public enum Kind {
        /** No answer within the time of the call; a server may have carried the request out. */
        TIMEOUT,
        /** The server cannot be reached, or its connection ended before the answer. */
        SERVER_DEAD,
        /** Too many requests, or too many bytes of values, wait for an answer. */
        BUSY,
        /** The value is larger than the server's limit. */
        TOO_LARGE,
        /** The server has no memory for the value, or pinned items have used up their share. */
        SERVER_MEMORY,
        /** The server has no pinned items. */
        NO_PINS,
        /** Arithmetic with a value that is no number. */
        NON_NUMERIC,
        /** The value is larger than the buffer for it. */
        TRUNCATED,
        /** An answer, or the server's opinion of the request, that makes no sense. */
        PROTOCOL,
        /** The client is closed. */
        CLOSED
    }

    private final Kind kind;

    MemcachedException(Kind kind, String text) {
        super(text);
        this.kind = kind;
    }

    /** Returns the kind of failure. */
    public Kind kind() {
        return kind;
    }
}
