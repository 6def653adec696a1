// SPDX-License-Identifier: Apache-2.0
// What the one jar says of itself.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
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

    private static int javaOf(JarFile jar, String entry) throws IOException {
        assertNotNull(jar.getEntry(entry), entry);
        try (DataInputStream in = new DataInputStream(jar.getInputStream(jar.getEntry(entry)))) {
            assertEquals(0xcafebabe, in.readInt());
            in.readUnsignedShort();
            return in.readUnsignedShort() - 44;
        }
    }

    @Test
    void whatUsersNameIsForJava8AndTheRealClassesForJava17() throws Exception {
        File file = new File(VerbenaPlugin.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (JarFile jar = new JarFile(file)) { // as Java 8 sees it
            assertEquals("true", jar.getManifest().getMainAttributes().getValue("Multi-Release"));
            for (String name : new String[] {"Doctor", "VerbenaPlugin", "VerbenaPlugin$1", "VerbenaShuffleManager", "TooOld"}) {
                assertEquals(8, javaOf(jar, "org/verbena/spark/" + name + ".class"), name);
            }
            for (String name : new String[] {"Doctor", "VerbenaPlugin", "VerbenaShuffleManager"}) {
                assertEquals(17, javaOf(jar, "META-INF/versions/17/org/verbena/spark/" + name + ".class"), name);
            }
        }
    }
}
