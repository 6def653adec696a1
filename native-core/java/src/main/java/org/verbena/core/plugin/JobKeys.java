// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Makes the core's job key out of a secret that the host system has given to the processes of one job. */
public final class JobKeys {
    private static final String ALGORITHM = "HmacSHA256";

    private JobKeys() {
    }

    /**
     * Derives a job key: HMAC-SHA-256 (RFC 2104) of the label under the secret, so that the key tells nothing about the
     * secret, and two labels give two keys.
     *
     * @param secret what all processes of the job know, not empty; not changed, not kept
     * @param label what the key is for, with a version, for example {@code verbena spark 1}
     * @return the key, {@link org.verbena.core.VbnConfig#JOB_KEY_BYTES} bytes
     * @throws GeneralSecurityException when the JVM has no HMAC-SHA-256
     */
    public static byte[] derive(byte[] secret, String label) throws GeneralSecurityException {
        Mac mac = Mac.getInstance(ALGORITHM);
        mac.init(new SecretKeySpec(secret, ALGORITHM));
        return mac.doFinal(label.getBytes(StandardCharsets.UTF_8));
    }
}
