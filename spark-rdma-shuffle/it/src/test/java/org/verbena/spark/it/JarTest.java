// SPDX-License-Identifier: Apache-2.0
// What the one jar says of itself.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.verbena.spark.VerbenaPlugin;

class JarTest {
    private static JarFile jar() throws Exception {
        return new JarFile(new File(VerbenaPlugin.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
    }

    private static String text(JarFile jar, String name) throws IOException {
        assertNotNull(jar.getEntry(name), name);
        return new String(jar.getInputStream(jar.getEntry(name)).readAllBytes(), StandardCharsets.UTF_8);
    }

    @Test
    void itsManifestTellsVersionAndCommit() throws Exception {
        try (JarFile jar = jar()) {
            assertEquals("0.1.0", jar.getManifest().getMainAttributes().getValue("Implementation-Version"));
            assertTrue(jar.getManifest().getMainAttributes().getValue("Verbena-Commit").matches("unknown|[0-9a-f]{40}"));
        }
    }

    @Test
    void itHasItsLicenceAndNamesWhatOfOthersIsInside() throws Exception {
        try (JarFile jar = jar()) {
            assertTrue(text(jar, "META-INF/LICENSE").contains("Apache License"));
            for (String name : new String[] {"JCTools", "OpenSSL", "LZ4", "Zstandard"}) {
                assertTrue(text(jar, "META-INF/NOTICE").contains(name), name);
            }
        }
    }
}
