// SPDX-License-Identifier: Apache-2.0
// Driver and executors of an application must have the same jar.
package org.verbena.spark;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import org.apache.spark.SparkConf;
import org.verbena.spark.settings.VerbenaConf;

/**
 * What one writes, memory and files and messages, the others read. With one jar on the driver and another one on a node's
 * class path they might read it wrongly, so such an executor ends.
 */
final class Build {
    static final String KEY = VerbenaConf.INTERNAL + "build";
    static final String VERSION = "0.1.0";

    private Build() {
    }

    /** This one, as "0.1.0 of COMMIT" where the jar tells. */
    static String here() {
        try {
            File jar = new File(Build.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            if (jar.isFile()) {
                try (JarFile opened = new JarFile(jar)) {
                    Manifest manifest = opened.getManifest();
                    String commit = manifest == null ? null : manifest.getMainAttributes().getValue("Verbena-Commit");
                    return commit == null ? VERSION : VERSION + " of " + commit;
                }
            }
        } catch (IOException | URISyntaxException | IllegalArgumentException e) {
            return VERSION;
        }
        return VERSION;
    }

    /**
     * Compares the build here with the one that the driver has put into the configuration.
     *
     * @throws IllegalArgumentException when they differ
     */
    static void check(SparkConf conf, String here) {
        String drivers = conf.get(KEY, "an earlier build");
        if (!drivers.equals(here)) {
            throw new IllegalArgumentException("this executor has Verbena " + here + ", the driver has " + drivers + ": give them "
                + "the same jar (look at spark.executor.extraClassPath, spark.driver.extraClassPath, spark.jars and the jars of "
                + "Spark's installation on this node)");
        }
    }
}
