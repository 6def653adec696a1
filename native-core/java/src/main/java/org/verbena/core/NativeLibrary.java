// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Loads libvbnjni.so, once per class loader: from the file named by the system property {@code verbena.native.path}, else
 * from this jar ({@code META-INF/native/linux-<arch>/}), copied to a private directory below
 * {@code verbena.native.tmp} (default: java.io.tmpdir), checked against the hash in the jar, and removed after loading.
 * Each class loader of a process that has this class loads a copy of its own, which shares nothing with the others.
 */
public final class NativeLibrary {
    /** System property: the library file to load instead of the one in the jar. */
    public static final String PATH_PROPERTY = "verbena.native.path";
    /** System property: directory to unpack the library in. */
    public static final String TMP_PROPERTY = "verbena.native.tmp";
    /** System property that this class sets to the names of the class loaders that have loaded the library. */
    static final String LOADED_PROPERTY = "verbena.native.loaded";
    private static final String FILE = "libvbnjni.so";

    private static boolean loaded;
    /** What is to be said of other class loaders, once. */
    private static String note;

    private NativeLibrary() {
    }

    /**
     * Loads the library unless that has been done. Any thread.
     *
     * @throws VbnException {@link VbnStatus#UNSUPPORTED} with cause and cure when it cannot be loaded
     */
    public static synchronized void load() throws VbnException {
        if (loaded) {
            return;
        }
        String arch = arch(System.getProperty("os.arch"));
        if (!System.getProperty("os.name").equals("Linux")) {
            throw unsupported("Verbena's native library exists for Linux only", null);
        }
        synchronized (System.class) { // one lock for all class loaders of the process
            String others = System.getProperty(LOADED_PROPERTY);
            load(arch, others == null);
            if (Native.pageVersion() != PageLayout.PAGE_VERSION) {
                throw unsupported("the native library is of another version (layout " + Native.pageVersion()
                    + ", the jar needs " + PageLayout.PAGE_VERSION + "): use library and jar of one build", null);
            }
            loaded = true;
            note(others);
        }
    }

    static synchronized boolean isLoaded() {
        return loaded;
    }

    private static void load(String arch, boolean alone) throws VbnException {
        String path = System.getProperty(PATH_PROPERTY);
        if (path == null) {
            String name = "META-INF/native/linux-" + arch + "/" + FILE;
            loadCopy(resource(name, arch), new String(resource(name + ".sha256", arch), StandardCharsets.US_ASCII).strip(), arch);
        } else if (alone) {
            loadFile(Path.of(path).toAbsolutePath(), arch);
        } else { // the JVM loads a file for one class loader
            loadCopy(read(Path.of(path)), null, arch);
        }
    }

    private static void note(String others) {
        String self = NativeLibrary.class.getClassLoader() + "";
        if (others != null) {
            note = "another class loader of this process has a native core of its own (" + others + "; this one is " + self
                + "): memory and connections are not shared. Put one jar on the class path of both to share them";
        }
        System.setProperty(LOADED_PROPERTY, others == null ? self : others + ", " + self);
    }

    /** What is to be said of other class loaders in this process, null when it was said or there are none. */
    static synchronized String takeNote() {
        String text = note;
        note = null;
        return text;
    }

    /** Names as in the jar's folders. */
    static String arch(String osArch) {
        return osArch.equals("amd64") ? "x86_64" : osArch;
    }

    /** wanted: its hash, or null. */
    private static void loadCopy(byte[] library, String wanted, String arch) throws VbnException {
        Path directory = null;
        try {
            Path parent = Path.of(System.getProperty(TMP_PROPERTY, System.getProperty("java.io.tmpdir")));
            directory = Files.createTempDirectory(parent, "verbena-"); // mode 0700
            Path file = directory.resolve(FILE);
            Files.write(file, library);
            if (wanted != null && !sha256(file).equals(wanted)) {
                throw unsupported("the library unpacked to " + file + " does not have the hash that the jar names: the "
                    + "jar is damaged, or another program writes there", null);
            }
            loadFile(file, arch);
        } catch (IOException e) {
            if (e instanceof VbnException known) {
                throw known;
            }
            throw unsupported("cannot unpack the native library (" + e + "): set -D" + TMP_PROPERTY
                + " to a directory with 8 MiB of space", e);
        } finally {
            remove(directory);
        }
    }

    private static byte[] read(Path file) throws VbnException {
        try (InputStream in = new FileInputStream(file.toFile())) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw unsupported("cannot read " + file + " (" + e + ")", e);
        }
    }

    private static byte[] resource(String name, String arch) throws VbnException {
        try (InputStream in = NativeLibrary.class.getClassLoader().getResourceAsStream(name)) {
            if (in == null) {
                throw unsupported("the jar has no native library for this JVM's processor, " + arch + " (there is no " + name
                    + "): build the jar on such a host, for aarch64 also by './verbena build aarch64'; or set -D"
                    + PATH_PROPERTY, null);
            }
            return in.readAllBytes();
        } catch (VbnException e) {
            throw e;
        } catch (IOException e) {
            throw unsupported("cannot read " + name + " in the jar (" + e + ")", e);
        }
    }

    private static void loadFile(Path file, String arch) throws VbnException {
        ElfHeader.check(file, arch);
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError e) {
            throw unsupported("cannot load " + file + ": " + e.getMessage() + cure(file, e.getMessage()), e);
        }
    }

    private static String cure(Path file, String text) {
        if (text.contains("failed to map segment") || isNoexec(file)) {
            return "; the file system of " + file.getParent() + " is mounted noexec: set -D" + TMP_PROPERTY
                + " to a directory where programs may run";
        }
        if (text.contains("GLIBC_")) {
            return "; the library was built on a newer system: build it on this one, or on the oldest one in use";
        }
        return "";
    }

    private static boolean isNoexec(Path file) {
        try {
            String best = "";
            boolean noexec = false;
            for (String line : Files.readAllLines(Path.of("/proc/self/mounts"))) {
                String[] fields = line.split(" ");
                if (file.startsWith(fields[1]) && fields[1].length() >= best.length()) {
                    best = fields[1];
                    noexec = ("," + fields[3] + ",").contains(",noexec,");
                }
            }
            return noexec;
        } catch (IOException e) {
            return false; // only a better message is lost
        }
    }

    /** Reads by a stream: a channel would take direct memory of the file's size, and keep it for the thread. */
    private static String sha256(Path file) throws IOException {
        try (InputStream in = new FileInputStream(file.toFile())) {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(in.readAllBytes()));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JVM has SHA-256
        }
    }

    private static void remove(Path directory) {
        try {
            if (directory != null) {
                Files.deleteIfExists(directory.resolve(FILE));
                Files.deleteIfExists(directory);
            }
        } catch (IOException e) {
            directory.toFile().deleteOnExit();
        }
    }

    static VbnException unsupported(String text, Throwable cause) {
        return new VbnException(VbnStatus.UNSUPPORTED, text, cause);
    }
}
