// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;

/**
 * The natives of libvbnjni.so; C side in native-core/jni. Handles are index + generation, 0 is never a handle; a stale
 * or foreign one fails with VBN_ERR_STALE. On failure, calls that return a handle, an array or a buffer return 0 or
 * null, calls that return int a negative status; the text is then in {@link #errorText()} of the same thread. "Owner"
 * marks calls that only the thread that created the worker, or took it over, may make.
 */
final class Native {
    private Native() {
    }

    /** Status of this thread's last failed native call. */
    static native int errorStatus();

    /** Text of this thread's last failed native call, UTF-8. */
    static native byte[] errorText();

    /** Version of the layout of the shared page (see {@link Page}). */
    static native int pageVersion();

    /** Address of a direct buffer's first byte (position 0); 0 when it is not direct. discards: see {@link VbnMemory#discard}. */
    static native long bufferAddress(ByteBuffer buffer, boolean discards);

    /** The key in a file, 32 bytes; path: UTF-8 without NUL. */
    static native byte[] keyFileRead(byte[] path);

    /** Opens a context. settings: key NUL value NUL ... in UTF-8; jobKey: 32 bytes or null. */
    static native long contextOpen(byte[] settings, byte[] jobKey);

    static native int contextClose(long context);

    /**
     * Takes the queued log lines: for each the digits of level and category, 16 hex digits of the peer, the UTF-8 text and
     * NUL; null when there are none.
     */
    static native byte[] contextLog(long context);

    /** Counters as "name value" lines, UTF-8. */
    static native byte[] contextCounters(long context);

    /** The value of a setting, UTF-8, printed as the setting's parser would accept it. */
    static native byte[] contextSetting(long context, byte[] key);

    /** The value of a setting in base units (bytes, nanoseconds, 0 or 1); 0 with errorStatus() below 0 on failure. */
    static native long contextSettingNumber(long context, byte[] key);

    /** path: UTF-8 without NUL, or null for anonymous memory. */
    static native long memAlloc(long context, long bytes, byte[] path);

    static native long memOpen(long context, byte[] path);

    /** Bytes of a memory or mapping; negative status when stale. */
    static native long memSize(long memory);

    /** A direct buffer on [offset, offset + length) without any owner: the caller keeps the memory alive. */
    static native ByteBuffer memView(long memory, long offset, int length);

    /** discards: gives the pages of allocated memory back, too, although it is mapped. */
    static native int memRevoke(long memory, boolean discards);

    static native int memFree(long memory);

    static native byte[] keyExport(long memory, long offset, long length, boolean writable);

    /** Creates a worker owned by the calling thread. page: direct, laid out as {@link Page} says, kept natively. */
    static native long workerCreate(long context, ByteBuffer page, int slots, int events, int receiveBytes);

    /** Owner. Frees the worker with its peers, keys and remote data. */
    static native int workerDestroy(long worker);

    static native byte[] workerAddress(long worker);

    /** Any thread. */
    static native int workerWake(long worker);

    /** Owner. Sets (or removes) the handler of an active message id. */
    static native int workerHandler(long worker, int id, boolean enabled);

    /**
     * Owner. Takes all submitted commands, moves what can move and writes at most maxEvents completions from entry 0.
     * When there are none it sleeps at most waitNanos. Returns the number of completions or a negative status.
     */
    static native int poll(long worker, int maxEvents, long waitNanos);

    /** Owner. Makes the worker one that several threads drive in turn. */
    static native int workerShare(long worker);

    /** Any thread: it becomes the owner. The owner before must not use the worker any more. */
    static native int workerTake(long worker);

    /** Owner. 1: what happens from now on ends a {@link #workerSleep}; 0: there is something to do; or a negative status. */
    static native int workerArm(long worker);

    /**
     * Any thread, of a shared worker: waits for something to do or a call.
     *
     * @param sleeper 0 or 1, one thread each
     * @return 1 when there may be something to do, 0 when the time is over, or a negative status
     */
    static native int workerSleep(long worker, int sleeper, long waitNanos);

    /** Any thread, of a shared worker: ends the sleeper's wait, or its next. */
    static native int workerCall(long worker, int sleeper);

    /** Owner. */
    static native long peerConnect(long worker, byte[] address);

    /** Owner. */
    static native byte[] peerExplain(long worker, long peer);

    /** Owner. Name of the transport that carries the peer; null with errorStatus() 0 while it has none. */
    static native byte[] peerTransport(long worker, long peer);

    /** Owner. */
    static native long peerUid(long worker, long peer);

    /** Owner. */
    static native long keyImport(long worker, long peer, byte[] blob);

    /**
     * Owner. A handle of the key's mapping (use memSize, memView and memFree with it; independent of the key's and
     * the worker's life), or 0: not mapped when errorStatus() is 0, else failed.
     */
    static native long keyMap(long worker, long key);
}
