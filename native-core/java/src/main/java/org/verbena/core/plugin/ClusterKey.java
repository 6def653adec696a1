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

/**
 * Where the key is, if there is to be one. Immutable.
 *
 * @param prefix what the plugin's settings {@code key.file} and {@code auth} begin with, for texts
 * @param file file with 64 hexadecimal digits; empty when none is named
 * @param openToAll whether connections need no key
 */
public record ClusterKey(String prefix, String file, boolean openToAll) {
    private static final int FILE_MAX = 4096;

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

    private String secret() throws IOException {
        if (file.isEmpty()) {
            throw new IOException("no cluster key: set " + prefix + "key.file to a file with 64 hexadecimal digits (openssl "
                + "rand -hex 32), the same on all hosts and readable by the cluster's users alone, or " + prefix + "auth=none");
        }
        Path path = Path.of(file);
        if (!Files.isReadable(path) || Files.size(path) > FILE_MAX) {
            throw new IOException("the key file " + path + " (" + prefix + "key.file) is not there, not readable by this user, "
                + "or too large");
        }
        String text = Files.readString(path, StandardCharsets.US_ASCII).strip();
        if (!text.matches("[0-9a-fA-F]{64}")) {
            throw new IOException("the key file " + path + " (" + prefix + "key.file) does not hold 64 hexadecimal digits: make "
                + "one with openssl rand -hex 32");
        }
        return text.toLowerCase(Locale.ROOT);
    }
}
