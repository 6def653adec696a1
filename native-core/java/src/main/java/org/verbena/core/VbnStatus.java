// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/** Error codes of the core, with the values of {@code vbn_status_t}; a test compares them with {@code vbn.h}. */
public enum VbnStatus {
    /** An argument is wrong. */
    INVALID(-1, "an argument is wrong"),
    /** Heap, pool or tmpfs space is exhausted. */
    NO_MEMORY(-2, "heap, pool or tmpfs space is exhausted"),
    /** A limit (setting, ulimit, quota, full queue) would be exceeded. */
    LIMIT(-3, "a limit would be exceeded"),
    /** Unknown setting or bad value. */
    SETTING(-4, "unknown setting or bad value"),
    /** No transport reaches the peer. */
    UNREACHABLE(-5, "no transport reaches the peer"),
    /** The peer does not know the job key. */
    AUTH(-6, "the peer does not know the job key"),
    /** The peer speaks another protocol version. */
    VERSION(-7, "the peer speaks another protocol version"),
    /** The peer died or its connection broke. */
    PEER_LOST(-8, "the peer died or its connection broke"),
    /** The object was closed while the operation was pending. */
    CLOSED(-9, "closed while the operation was pending"),
    /** Handle or key of an object that is gone. */
    STALE(-10, "handle or key of an object that is gone"),
    /** Address range outside the key or memory. */
    RANGE(-11, "range outside the key or memory"),
    /** A right is missing, or file permissions forbid it. */
    ACCESS(-12, "right missing, or file permissions forbid it"),
    /** The receive buffer is smaller than the message. */
    TRUNCATED(-13, "receive buffer smaller than the message"),
    /** The peer sent something malformed. */
    PROTOCOL(-14, "the peer sent something malformed"),
    /** No answer within the stated time. */
    TIMEOUT(-15, "no answer in time"),
    /** A system call failed. */
    SYSTEM(-16, "a system call failed"),
    /** Called in a child after fork(). */
    FORKED(-17, "used in a child after fork"),
    /** This build or host cannot do it. */
    UNSUPPORTED(-18, "not supported by this build, host or peer"),
    /** Stored or received data fails its checks. */
    CORRUPT(-19, "data fails its checks"),
    /** Another process or worker has the port or address. */
    IN_USE(-20, "another process or worker has the port or address");

    private static final VbnStatus[] BY_CODE = new VbnStatus[values().length + 1];

    static {
        for (VbnStatus status : values()) {
            BY_CODE[-status.code] = status;
        }
    }

    private final int code;
    private final String text;

    VbnStatus(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** Returns the {@code VBN_ERR_*} value, negative. */
    public int code() {
        return code;
    }

    /** Returns a short description. */
    public String text() {
        return text;
    }

    /** Returns the constant's name in the C header, for example {@code VBN_ERR_AUTH}. */
    public String nativeName() {
        return "VBN_ERR_" + name();
    }

    /**
     * Finds a status.
     *
     * @param code a negative {@code VBN_ERR_*} value
     * @return the status, {@link #INVALID} for a code that does not exist
     */
    public static VbnStatus of(int code) {
        return code < 0 && -code < BY_CODE.length ? BY_CODE[-code] : INVALID;
    }
}
