// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * One user of the native core in this process: settings, job key, memory and engines. Any thread may use it. The native
 * context goes when this object is closed and the last buffer on its memory is unreachable.
 */
public final class VbnContext implements AutoCloseable {
    private final long handle;
    private final VbnLog log;
    private final int queueCapacity;
    private final long queueTimeoutNanos;
    /** One for this object while open, one per engine, one per mapping; at 0 the native context is closed. */
    private final AtomicInteger references = new AtomicInteger(1);
    private final Set<Mapping> openMemory = ConcurrentHashMap.newKeySet();
    private final Set<VbnEngine> engines = ConcurrentHashMap.newKeySet();
    private final AtomicLong leaks = new AtomicLong();
    private boolean closed;

    private VbnContext(long handle, VbnConfig config) {
        this.handle = handle;
        log = config.log();
        queueCapacity = config.queueCapacity();
        queueTimeoutNanos = config.queueTimeoutNanos();
    }

    /**
     * Opens a context; loads the native library when that has not happened yet.
     *
     * @param config settings and job key; copied
     * @return the context, to be closed by the caller
     * @throws VbnException {@link VbnStatus#SETTING} for an unknown setting or bad value, {@link VbnStatus#UNSUPPORTED}
     *     when the native library cannot be loaded, and what else the core reports
     */
    public static VbnContext open(VbnConfig config) throws VbnException {
        NativeLibrary.load();
        long handle = VbnException.checkHandle(Native.contextOpen(config.packedSettings(), config.jobKey()));
        VbnContext context = new VbnContext(handle, config);
        context.drainLog();
        String note = NativeLibrary.takeNote();
        if (note != null) {
            context.log(VbnLog.INFO, note);
        }
        return context;
    }

    /**
     * Starts an engine: one thread with one native worker.
     *
     * @param threadName name of the thread, a daemon
     * @return the engine, to be closed by the caller (else by {@link #close})
     * @throws VbnException when the worker cannot be created
     */
    public VbnEngine startEngine(String threadName) throws VbnException {
        return newEngine(threadName, VbnEngine.Drive.OWN_THREAD, null);
    }

    /**
     * Makes an engine that the calling thread drives, by {@link VbnEngine#turn}. Only that thread may drive it, as long as it
     * is open.
     *
     * @param name name of the engine, for the log
     * @return the engine, to be closed by the caller, best on this thread (else by {@link #close}, which then waits until this
     *     thread calls turn again)
     * @throws VbnException when the worker cannot be created
     */
    public VbnEngine attachEngine(String name) throws VbnException {
        return newEngine(name, VbnEngine.Drive.ATTACHED, null);
    }

    /**
     * Starts an engine that every thread drives which submits something or waits in {@link VbnEngine#park}, one at a time, and
     * a thread of its own while there is none: for threads that block, which then need no other one to move their data.
     * Callbacks run on any of these threads, one after the other; they may come within a call of this API, so nobody calls it
     * with a lock that callbacks take.
     *
     * @param threadName name of its own thread, a daemon
     * @return the engine, to be closed by the caller (else by {@link #close})
     * @throws VbnException when the worker cannot be created
     */
    public VbnEngine shareEngine(String threadName) throws VbnException {
        return newEngine(threadName, VbnEngine.Drive.SHARED, null);
    }

    /**
     * Makes an engine that the calling thread drives by {@link VbnEngine#turn}, and others, one at a time, while they are
     * between {@link VbnEngine#enter} and {@link VbnEngine#leave} or wait in {@link VbnEngine#park}. Each of them does the
     * work, too. What other threads submit is left to these.
     *
     * @param name name of the engine, for the log
     * @param work done in each turn; null: there is none, and others drive also when they submit, as with {@link #shareEngine}
     * @return the engine, to be closed by the caller on this thread, else as with {@link #attachEngine}
     * @throws VbnException when the worker cannot be created
     */
    public VbnEngine attachSharedEngine(String name, TurnWork work) throws VbnException {
        return newEngine(name, VbnEngine.Drive.ATTACHED_SHARED, work);
    }

    private VbnEngine newEngine(String name, VbnEngine.Drive drive, TurnWork work) throws VbnException {
        VbnEngine engine;
        try {
            engine = new VbnEngine(this, name, drive, work);
        } catch (OutOfMemoryError e) {
            throw new VbnException(VbnStatus.NO_MEMORY, "this JVM has no memory for an engine (" + e.getMessage()
                + "): raise -XX:MaxDirectMemorySize", e);
        }
        retain();
        engines.add(engine);
        try {
            engine.start();
            return engine;
        } catch (VbnException e) {
            forget(engine);
            throw e;
        } finally {
            drainLog();
        }
    }

    /**
     * Allocates anonymous memory that peers on this host can map (a sealed memfd), all pages preallocated.
     *
     * @param bytes its size, rounded up to pages
     * @return the memory, to be closed by the caller
     * @throws VbnException {@link VbnStatus#NO_MEMORY}
     */
    public VbnMemory allocate(long bytes) throws VbnException {
        return allocate(bytes, null);
    }

    /**
     * Allocates memory in a named file, which processes of the same user can map with {@link #openFile}.
     *
     * @param bytes its size, rounded up to pages
     * @param path the file to create (mode 0600), in an existing directory of mode 0700 that is ours
     * @return the memory, to be closed by the caller, which removes the file
     * @throws VbnException {@link VbnStatus#NO_MEMORY}, {@link VbnStatus#ACCESS}, {@link VbnStatus#SYSTEM}
     */
    public VbnMemory allocateFile(long bytes, Path path) throws VbnException {
        return allocate(bytes, path);
    }

    private VbnMemory allocate(long bytes, Path path) throws VbnException {
        if (bytes <= 0) {
            throw new VbnException(VbnStatus.INVALID, "memory of " + bytes + " bytes");
        }
        return newMemory(() -> Native.memAlloc(handle, bytes, path == null ? null : pathBytes(path)), false);
    }

    /**
     * Maps a file that another process of this user made with {@link #allocateFile}, read-only.
     *
     * @param path the file
     * @return the memory, to be closed by the caller, which only unmaps it
     * @throws VbnException {@link VbnStatus#STALE} when its owner has closed it, {@link VbnStatus#ACCESS} or
     *     {@link VbnStatus#CORRUPT} when it is not such a file
     */
    public VbnMemory openFile(Path path) throws VbnException {
        return newMemory(() -> Native.memOpen(handle, pathBytes(path)), true);
    }

    private VbnMemory newMemory(LongSupplier call, boolean readOnly) throws VbnException {
        retain();
        long memory = call.getAsLong();
        if (memory == 0) {
            VbnException failure = VbnException.last();
            release();
            throw failure;
        }
        return new VbnMemory(adopt(new Mapping(this, memory, readOnly)));
    }

    Mapping adopt(Mapping mapping) {
        openMemory.add(mapping);
        return mapping;
    }

    private static byte[] pathBytes(Path path) {
        return path.toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Reads the counters of the context's statistics page, {@code java.leaked}: objects that were not closed by their
     * owners, and {@code java.polls}: native calls of the engines that are running.
     *
     * @return counter names and values; empty when the context is closed
     */
    public Map<String, Long> counters() {
        byte[] lines = Native.contextCounters(handle);
        Map<String, Long> counters = new LinkedHashMap<>();
        if (lines != null) {
            for (String line : new String(lines, StandardCharsets.UTF_8).split("\n")) {
                int space = line.indexOf(' ');
                counters.put(line.substring(0, space), Long.parseUnsignedLong(line.substring(space + 1)));
            }
        }
        counters.put("java.leaked", leaks.get());
        counters.put("java.polls", engines.stream().mapToLong(VbnEngine::polls).sum());
        return counters;
    }

    /**
     * Reads a setting as it is in force.
     *
     * @param key its name
     * @return its value
     * @throws VbnException {@link VbnStatus#SETTING} when there is no such setting
     */
    public String setting(String key) throws VbnException {
        byte[] value = Native.contextSetting(handle, key.getBytes(StandardCharsets.UTF_8));
        if (value == null) {
            throw VbnException.last();
        }
        return new String(value, StandardCharsets.UTF_8);
    }

    /**
     * Reads a setting as it is in force, as a number.
     *
     * @param key its name
     * @return its value in bytes or nanoseconds; 0 or 1 of a switch
     * @throws VbnException {@link VbnStatus#SETTING} when there is no such setting, {@link VbnStatus#INVALID} when it is
     *     a text
     */
    public long settingNumber(String key) throws VbnException {
        long value = Native.contextSettingNumber(handle, key.getBytes(StandardCharsets.UTF_8));
        VbnException.check(Native.errorStatus());
        return value;
    }

    /** Closes the context and engines and memory still open, which count as leaks and are logged. Idempotent. */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        List<VbnEngine> leftEngines = new ArrayList<>(engines);
        leftEngines.forEach(VbnEngine::close);
        List<Mapping> leftMemory = new ArrayList<>(openMemory);
        leftMemory.forEach(Mapping::close);
        int left = leftEngines.size() + leftMemory.size();
        if (left > 0) {
            leaked(left, "context closed with " + leftEngines.size() + " engines and " + leftMemory.size()
                + " memory blocks still open: close them before the context");
        }
        release();
    }

    synchronized void retain() throws VbnException {
        if (closed) {
            throw new VbnException(VbnStatus.CLOSED, "the context is closed");
        }
        references.incrementAndGet();
    }

    void release() {
        drainLog();
        if (references.decrementAndGet() == 0 && Native.contextClose(handle) < 0) {
            log(VbnLog.ERROR, "context not closed: " + VbnException.last().getMessage());
        }
    }

    /** Counts and logs objects that their owner has forgotten to close or release. */
    void leaked(int count, String what) {
        log(VbnLog.WARN, "leak: " + what);
        leaks.addAndGet(count);
    }

    void forget(Mapping mapping) {
        openMemory.remove(mapping);
    }

    void forget(VbnEngine engine) {
        if (engines.remove(engine)) {
            release();
        }
    }

    long handle() {
        return handle;
    }

    int queueCapacity() {
        return queueCapacity;
    }

    long queueTimeoutNanos() {
        return queueTimeoutNanos;
    }

    /** Hands the queued native log lines to the log. */
    void drainLog() {
        byte[] lines = Native.contextLog(handle);
        for (int from = 0, i = 0; lines != null && i < lines.length; i++) {
            if (lines[i] == 0) {
                tell(parse(new String(lines, from, i - from, StandardCharsets.UTF_8)));
                from = i + 1;
            }
        }
    }

    private static VbnLog.Line parse(String queued) {
        return new VbnLog.Line(queued.charAt(0) - '0', queued.charAt(1) - '0',
            Long.parseUnsignedLong(queued.substring(2, 18), 16), queued.substring(18));
    }

    void log(int level, String text) {
        tell(new VbnLog.Line(level, VbnLog.PROCESS, 0, text));
    }

    /** What the user's log throws ends nothing here: there is nobody to tell, and engines and their callers go on. */
    private void tell(VbnLog.Line line) {
        try {
            log.line(line);
        } catch (RuntimeException | Error e) {
            return; // the line is lost
        }
    }
}
