// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;

/**
 * Memory that peers can reach: by keys, and (when it has a name) by path. Thread safe. {@link #close} makes keys stale
 * and removes the file at once; the mapping itself goes when the last buffer on it is unreachable, so a buffer never
 * dangles.
 */
public final class VbnMemory implements AutoCloseable {
    private final Mapping mapping;

    VbnMemory(Mapping mapping) {
        this.mapping = mapping;
        mapping.watch(this, "memory of " + mapping.size + " bytes");
    }

    /** Returns the size in bytes. */
    public long size() {
        return mapping.size;
    }

    /** Returns the address of the first byte, to be used only while a buffer on the memory is reachable. */
    public long address() {
        return mapping.address();
    }

    /**
     * Makes a view of the whole memory.
     *
     * @return a fresh buffer in native byte order, read-only for {@link VbnContext#openFile}
     * @throws IndexOutOfBoundsException when the memory is larger than 2 GiB - 1
     * @throws IllegalStateException when the memory is closed
     */
    public ByteBuffer buffer() {
        if (mapping.size > Integer.MAX_VALUE) {
            throw new IndexOutOfBoundsException("a buffer takes 2 GiB - 1, the memory has " + mapping.size);
        }
        return slice(0, (int) mapping.size);
    }

    /**
     * Makes a view of a part.
     *
     * @param offset first byte
     * @param length bytes, at most 1 GiB unless offset is a multiple of 1 GiB
     * @return a fresh buffer in native byte order
     * @throws IndexOutOfBoundsException when it is not inside the memory
     * @throws IllegalStateException when the memory is closed
     */
    public ByteBuffer slice(long offset, int length) {
        if (mapping.isClosed()) {
            throw new IllegalStateException("the memory is closed");
        }
        return mapping.slice(offset, length);
    }

    /**
     * Makes a key that lets peers reach a range.
     *
     * @param offset first byte of the range
     * @param length its bytes
     * @param writable whether peers may put
     * @return a blob for {@link VbnEngine#importKey}
     * @throws VbnException {@link VbnStatus#RANGE}, or {@link VbnStatus#STALE} when the memory is closed
     */
    public byte[] exportKey(long offset, long length, boolean writable) throws VbnException {
        if (mapping.isClosed()) {
            throw new VbnException(VbnStatus.STALE, "the memory is closed");
        }
        byte[] blob = Native.keyExport(mapping.handle, offset, length, writable);
        if (blob == null) {
            throw VbnException.last();
        }
        return blob;
    }

    /** True after {@link #close}, also when the context has closed it. */
    public boolean isClosed() {
        return mapping.isClosed();
    }

    /**
     * Closes memory that this context has allocated, and gives its pages back to the system now, not with the last buffer on it:
     * buffers, also those of other processes, read zeros from then on. Only for memory that nobody reads or writes any more: who
     * does is given a page again, and where there is none left the JVM throws an InternalError. Idempotent.
     */
    public void discard() {
        mapping.discard();
    }

    /**
     * Gives the pages that lie in a direct buffer as a whole back to the system now, not when the JVM finds that nobody refers to
     * the buffer. The buffer stays what it is: who reads it all the same finds zeros or old bytes, who writes gets new pages. For
     * the JVM's own direct memory, with no operation on it under way. Does nothing before the native library is loaded. Any thread.
     *
     * @param direct a buffer of {@link ByteBuffer#allocateDirect}, or a duplicate of it
     */
    public static void discard(ByteBuffer direct) {
        if (NativeLibrary.isLoaded()) {
            Native.bufferAddress(direct, true);
        }
    }

    /** Makes keys stale and removes the file now; see the class comment. Idempotent. */
    @Override
    public void close() {
        mapping.close();
    }
}
