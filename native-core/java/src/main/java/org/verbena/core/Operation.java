// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;

/**
 * A command on its way to the native core and, until it completes, the owner of references to its buffers. Filled by
 * the issuing thread, then belongs to the engine's thread, which uses it again.
 */
final class Operation {
    int kind;
    int id;
    int headerLength;
    byte[] header;
    int parts;
    long address;
    long length;
    long[] list;
    long handle;
    long offset;
    Completion done;
    /** Keeps the buffers of a single part or of the whole list reachable. */
    private Object buffers;

    Operation set(int kind, long handle, Completion done) {
        this.kind = kind;
        this.handle = handle;
        this.done = done;
        return this;
    }

    void setHeader(int id, ByteBuffer source) {
        this.id = id;
        headerLength = source == null ? 0 : source.remaining();
        if (headerLength > VbnEngine.HEADER_MAX) {
            throw new IllegalArgumentException("header of " + headerLength + " bytes, at most " + VbnEngine.HEADER_MAX);
        }
        if (headerLength > 0) {
            if (header == null || header.length < headerLength) {
                header = new byte[headerLength <= 64 ? 64 : VbnEngine.HEADER_MAX];
            }
            source.get(source.position(), header, 0, headerLength);
        }
    }

    void setBuffer(ByteBuffer buffer) {
        parts = 1;
        length = buffer.remaining();
        address = address(buffer);
        buffers = buffer;
    }

    void setBuffers(ByteBuffer[] sources) {
        int count = sources == null ? 0 : sources.length;
        if (count == 1) {
            setBuffer(sources[0]);
            return;
        }
        if (count > VbnEngine.PARTS_MAX) {
            throw new IllegalArgumentException(count + " payload buffers, at most " + VbnEngine.PARTS_MAX);
        }
        if (list == null || list.length < 2 * count) {
            list = new long[2 * count];
        }
        parts = count;
        for (int i = 0; i < count; i++) {
            list[2 * i] = address(sources[i]);
            list[2 * i + 1] = sources[i].remaining();
        }
        buffers = count == 0 ? null : sources.clone();
    }

    private static long address(ByteBuffer buffer) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException("a heap buffer cannot be used for I/O: use a direct one");
        }
        return buffer.remaining() == 0 ? 0 : Raw.address(buffer) + buffer.position();
    }

    /** Drops all references, for the next use. */
    void clear() {
        id = 0;
        headerLength = 0;
        parts = 0;
        address = 0;
        length = 0;
        offset = 0;
        handle = 0;
        done = null;
        buffers = null;
        if (list != null && list.length > 64) {
            list = null;
        }
    }

    /** True when native code reports its end. */
    boolean hasCompletion() {
        return kind != PageLayout.PAGE_DROP && kind != PageLayout.PAGE_PEER_CLOSE && kind != PageLayout.PAGE_KEY_RELEASE;
    }

    String describe() {
        return switch (kind) {
            case PageLayout.PAGE_SEND, PageLayout.PAGE_SEND_RENDEZVOUS -> "send of message " + id;
            case PageLayout.PAGE_PULL -> "pull";
            case PageLayout.PAGE_GET -> "get";
            case PageLayout.PAGE_PUT -> "put";
            case PageLayout.PAGE_FLUSH -> "flush";
            default -> "close";
        };
    }
}
