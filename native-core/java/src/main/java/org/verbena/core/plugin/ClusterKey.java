// SPDX-License-Identifier: Apache-2.0
// The secret that the processes of a cluster share, and the core's configuration with it.
package org.verbena.core.plugin;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import org.verbena.core.KeyFile;
import org.verbena.core.NativeLibrary;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnException;

/**
 * Where the key is, if there is to be one. Immutable.
 *
 * @param prefix what the plugin's settings {@code key.file} and {@code auth} begin with, for texts
 * @param file file with 64 hexadecimal digits, such as {@link KeyFile} reads; empty when none is named
 * @param openToAll whether connections need no key
 */
public record ClusterKey(String prefix, String file, boolean openToAll) {
    private static final String KEY_FILE = "key.file";
    private static final String AUTH = "auth";
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

    /** Digits in lower case: keys are derived from their text, and the same on all hosts. */
    private String secret() throws IOException {
        if (file.isEmpty()) {
            throw new IOException("no cluster key: set " + prefix + KEY_FILE + " to a file with 64 hexadecimal digits, made by "
                + MAKE + " and the same on all hosts, or " + prefix + AUTH + "=none");
        }
        NativeLibrary.load(); // what is wrong with that is not the key's fault
        try {
            return HexFormat.of().formatHex(KeyFile.read(Path.of(file)));
        } catch (VbnException e) {
            throw new IOException(prefix + KEY_FILE + ": " + e.text(), e);
        }
    }
}
