// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Settings of a context: defaults, then the environment ({@code VBN_*}), then {@link #set}. Names and values are
 * checked by {@link VbnContext#open}. Not thread safe; may be changed and used again afterwards.
 */
public final class VbnConfig {
    /** Length of a job key in bytes. */
    public static final int JOB_KEY_BYTES = 32;

    private final Map<String, String> settings = new LinkedHashMap<>();
    private byte[] jobKey;
    private VbnLog log = SystemLog.INSTANCE;
    private int queueCapacity = 4096;
    private Duration queueTimeout = Duration.ofSeconds(10);

    /** Makes a configuration without job key that logs to {@link System.Logger} "org.verbena". */
    public VbnConfig() {
    }

    /**
     * Sets one of the core's settings.
     *
     * @param key its name, for example {@code tl.enable}; see {@link VbnSetting}
     * @param value its value, for example {@code self,shm}
     * @return this
     */
    public VbnConfig set(String key, String value) {
        if (key.indexOf('\0') >= 0 || value.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("setting with a NUL character: " + key.replace('\0', '?'));
        }
        settings.put(key, value);
        return this;
    }

    /**
     * Sets the secret that the job's processes share; copied.
     *
     * @param key32 32 bytes
     * @return this
     */
    public VbnConfig jobKey(byte[] key32) {
        if (key32.length != JOB_KEY_BYTES) {
            throw new IllegalArgumentException("a job key has 32 bytes, not " + key32.length);
        }
        jobKey = key32.clone();
        return this;
    }

    /**
     * Sets where log lines go.
     *
     * @param log the receiver, called from several threads
     * @return this
     */
    public VbnConfig log(VbnLog log) {
        this.log = Objects.requireNonNull(log);
        return this;
    }

    /**
     * Sets the size of each engine's queue and how long a caller outside the engine waits when it is full, after which
     * its operation fails with {@link VbnStatus#LIMIT}.
     *
     * @param capacity operations and tasks that may wait, rounded up to a power of two (default 4096)
     * @param timeout the wait (default 10 s)
     * @return this
     */
    public VbnConfig queue(int capacity, Duration timeout) {
        if (capacity < 2 || capacity > 1 << 24) {
            throw new IllegalArgumentException("queue capacity " + capacity + " is not in 2..16777216");
        }
        queueCapacity = capacity;
        queueTimeout = Objects.requireNonNull(timeout);
        return this;
    }

    byte[] packedSettings() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        settings.forEach((key, value) -> {
            out.writeBytes(key.getBytes(StandardCharsets.UTF_8));
            out.write(0);
            out.writeBytes(value.getBytes(StandardCharsets.UTF_8));
            out.write(0);
        });
        return out.toByteArray();
    }

    byte[] jobKey() {
        return jobKey;
    }

    VbnLog log() {
        return log;
    }

    int queueCapacity() {
        return queueCapacity;
    }

    long queueTimeoutNanos() {
        return queueTimeout.toNanos();
    }
}
