// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Keys in files, by the core's own reader, so that one rule holds for programs in C and in Java. */
public final class KeyFile {
    private KeyFile() {
    }

    /**
     * Reads a key: 64 hexadecimal digits in a plain file of this user or root, which its group may read, its owner alone may
     * write, and others not even read. Loads the native library. Any thread.
     *
     * @param file its path; links are followed
     * @return {@link VbnConfig#JOB_KEY_BYTES} bytes, the caller's
     * @throws VbnException when the file is not such a one, or the library cannot be loaded; {@link VbnException#text()} names
     *     the file, what is wrong and what to do
     */
    public static byte[] read(Path file) throws VbnException {
        NativeLibrary.load();
        byte[] key = Native.keyFileRead(file.toString().getBytes(StandardCharsets.UTF_8));
        if (key == null) {
            throw VbnException.last();
        }
        return key;
    }
}
