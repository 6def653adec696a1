// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Tells from a library's first bytes whether it is for this JVM's processor, for a clear message. */
final class ElfHeader {
    private static final int MACHINE_OFFSET = 18;
    private static final Map<Integer, String> MACHINES =
        Map.of(3, "x86", 40, "arm", 62, "x86_64", 183, "aarch64", 243, "riscv64", 21, "ppc64le", 22, "s390x");

    private ElfHeader() {
    }

    /** Throws when the file is not a library for `arch`. Unknown processors pass: the loader decides. */
    static void check(Path file, String arch) throws VbnException {
        byte[] head;
        try (InputStream in = Files.newInputStream(file)) {
            head = in.readNBytes(MACHINE_OFFSET + 2);
        } catch (IOException e) {
            throw NativeLibrary.unsupported("cannot read the native library (" + e + ")", e);
        }
        if (head.length < MACHINE_OFFSET + 2 || head[0] != 0x7f || head[1] != 'E' || head[2] != 'L' || head[3] != 'F') {
            throw NativeLibrary.unsupported(file + " is not a Linux library (no ELF header)", null);
        }
        boolean little = head[5] == 1;
        int low = head[MACHINE_OFFSET + (little ? 0 : 1)] & 0xff;
        int high = head[MACHINE_OFFSET + (little ? 1 : 0)] & 0xff;
        String machine = MACHINES.get(low | high << 8);
        if (machine != null && MACHINES.containsValue(arch) && !machine.equals(arch)) {
            throw NativeLibrary.unsupported("the native library " + file + " is for " + machine + ", this JVM runs on "
                + arch + ": use a jar built for " + arch, null);
        }
    }
}
