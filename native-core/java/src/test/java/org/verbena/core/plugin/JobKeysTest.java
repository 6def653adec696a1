// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;

class JobKeysTest {
    /** RFC 4231, test case 2. */
    @Test
    void the_key_is_the_hmac_of_the_label() throws Exception {
        byte[] key = JobKeys.derive("Jefe".getBytes(StandardCharsets.US_ASCII), "what do ya want for nothing?");
        assertEquals("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", HexFormat.of().formatHex(key));
        assertEquals(VbnConfig.JOB_KEY_BYTES, key.length);
    }

    @Test
    void two_labels_give_two_keys() throws Exception {
        byte[] secret = {1, 2, 3};
        assertFalse(Arrays.equals(JobKeys.derive(secret, "verbena spark 1"), JobKeys.derive(secret, "verbena hadoop 1")));
    }
}
