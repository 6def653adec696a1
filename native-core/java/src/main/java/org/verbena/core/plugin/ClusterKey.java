// SPDX-License-Identifier: Apache-2.0
// The secret that the processes of a cluster share, and the core's configuration with it.
package org.verbena.core.plugin;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Locale;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnException;

/**
 * Where the key is, if there is to be one. Immutable.
 *
 * @param prefix what the plugin's settings {@code key.file} and {@code auth} begin with, for texts
 * @param file file with 64 hexadecimal digits, for its owner alone; empty when none is named
 * @param openToAll whether connections need no key
 */
public record ClusterKey(String prefix, String file, boolean openToAll) {
    private static final String KEY_FILE = "key.file";
    private static final String AUTH = "auth";
    private static final int FILE_MAX = 4096;
    private static final int PERMISSIONS = 0777;
    /** Those of group and others, as in native-core/src/api/job_key.c. */
    private static final int OTHERS = 077;
    private static final String MAKE = "(umask 077; openssl rand -hex 32 > FILE)";

    /**
     * Makes a configuration of the core. Processes of different users may connect to each other: the key decides.
     *
     * @param label what the key is for, as for {@link JobKeys#derive}
     * @return the configuration, the caller's
     * @throws IOException when there is no key, with the cure
     * @throws GeneralSecurityException when the JVM has no HMAC-SHA-256
     */
    public VbnConfig config(String label) throws IOException, GeneralSecurityException {
        VbnConfig config = new VbnConfig().set("security.same_user", "false");
        return openToAll ? config.set("security.auth", "none")
            : config.jobKey(JobKeys.derive(secret().getBytes(StandardCharsets.US_ASCII), label));
    }

    /**
     * Says why something failed: causes of the core that are about keys name the plugin's settings.
     *
     * @param cause the failure; null: not known
     */
    public String words(Throwable cause) {
        if (cause == null) {
            return "the connection was lost";
        }
        String text = cause instanceof VbnException core ? core.text() : cause.getMessage();
        return words(text == null ? cause.toString() : text);
    }

    /** As {@link #words(Throwable)}, for a text of the core's. */
    public String words(String text) {
        return text.replace("(vbn_config_set_job_key)", "(" + prefix + KEY_FILE + ")").replace("job-key", "key")
            .replace("the job key must", "the key (" + prefix + KEY_FILE + ") must").replace("security.auth", prefix + AUTH);
    }

    private String secret() throws IOException {
        if (file.isEmpty()) {
            throw new IOException("no cluster key: set " + prefix + KEY_FILE + " to a file with 64 hexadecimal digits, made by "
                + MAKE + " and the same on all hosts, or " + prefix + AUTH + "=none");
        }
        Path path = Path.of(file);
        if (!Files.isReadable(path) || Files.size(path) > FILE_MAX) {
            throw new IOException("the key file " + path + " (" + prefix + KEY_FILE + ") is not there, not readable by this user, "
                + "or too large");
        }
        checkPrivate(path);
        String text = Files.readString(path, StandardCharsets.US_ASCII).strip();
        if (!text.matches("[0-9a-fA-F]{64}")) {
            throw new IOException("the key file " + path + " (" + prefix + KEY_FILE + ") does not hold 64 hexadecimal digits: make "
                + "one by " + MAKE);
        }
        return text.toLowerCase(Locale.ROOT);
    }

    /** Links are followed; what counts is the file that is read. */
    private void checkPrivate(Path path) throws IOException {
        int mode = (int) Files.getAttribute(path, "unix:mode") & PERMISSIONS;
        if ((mode & OTHERS) != 0) {
            throw new IOException(String.format(Locale.ROOT, "%s%s: %s is mode %04o: others can read the key; run: chmod 600 %s",
                prefix, KEY_FILE, path, mode, path)); // base/key_text.h has the same words
        }
    }
}
