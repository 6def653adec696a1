// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** A failure reported by the native core or by this API; the message names cause and, where there is one, cure. */
public final class VbnException extends IOException {
    private static final long serialVersionUID = 1L;

    private final VbnStatus status;
    private final String text;

    /**
     * Makes an exception.
     *
     * @param status what kind of failure
     * @param text cause and cure
     */
    public VbnException(VbnStatus status, String text) {
        super(status.nativeName() + ": " + text);
        this.status = status;
        this.text = text;
    }

    /**
     * Makes an exception that another one led to.
     *
     * @param status what kind of failure
     * @param text cause and cure
     * @param cause the other one
     */
    public VbnException(VbnStatus status, String text, Throwable cause) {
        super(status.nativeName() + ": " + text, cause);
        this.status = status;
        this.text = text;
    }

    /** Returns the kind of failure. */
    public VbnStatus kind() {
        return status;
    }

    /** Returns the constant's name, for example {@code VBN_ERR_AUTH}. */
    public String statusName() {
        return status.nativeName();
    }

    /** Returns the message without the status name. */
    public String text() {
        return text;
    }

    /** Makes the exception for the last native call of this thread, which has failed. */
    static VbnException last() {
        int code = Native.errorStatus();
        byte[] text = Native.errorText();
        return new VbnException(VbnStatus.of(code), new String(text, StandardCharsets.UTF_8));
    }

    /** Throws {@link #last()} when a native call returned a negative status. */
    static void check(int status) throws VbnException {
        if (status < 0) {
            throw last();
        }
    }

    /** Returns the handle, or throws {@link #last()} when it is 0. */
    static long checkHandle(long handle) throws VbnException {
        if (handle == 0) {
            throw last();
        }
        return handle;
    }
}
