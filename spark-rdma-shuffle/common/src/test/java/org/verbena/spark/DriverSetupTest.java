// SPDX-License-Identifier: Apache-2.0
// What the driver reads in Spark's own settings.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.spark.settings.VerbenaConf;
import scala.Option;

class DriverSetupTest {
    private static final String DATA_IO = "spark.shuffle.sort.io.plugin.class";

    private static SparkConf conf(String... settings) {
        SparkConf conf = new SparkConf(false).set("spark.app.name", "test");
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            conf.set(parts[0], parts[1]);
        }
        return conf;
    }

    @Test
    void everySettingByWhichSparkEncryptsWhatItSendsCounts() {
        String[][] settings = {{}, {"spark.authenticate=true"}, {"spark.io.encryption.enabled=true"},
            {"spark.ssl.enabled=false", "spark.ssl.ui.enabled=true"},
            {"spark.authenticate=true", "spark.network.crypto.enabled=true"},
            {"spark.authenticate=true", "spark.authenticate.enableSaslEncryption=true"},
            {"spark.authenticate=true", "spark.authenticate.enableSaslEncryption=true",
                "spark.network.crypto.enabled=false"}};
        int encrypting = 0;
        for (String[] some : settings) {
            SparkConf conf = conf(some);
            SecurityManager security = new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE());
            boolean does = security.isEncryptionEnabled() || security.isSslRpcEnabled();
            encrypting += does ? 1 : 0;
            assertEquals(does, DriverSetup.encryptsNetwork(conf), String.join(" ", some));
        }
        assertEquals(3, encrypting);
        assertTrue(DriverSetup.encryptsNetwork(conf("spark.ssl.rpc.enabled=true")));
    }

    @Test
    void shuffleStorageOfAnotherKindIsLeftInPlace() {
        for (String other : new String[] {"org.apache.spark.shuffle.KubernetesLocalDiskShuffleDataIO",
            "org.apache.spark.shuffle.sort.io.AnotherDataIO", "com.example.RemoteDataIO",
            "org.verbena.spark.NoSuchDataIO"}) {
            String reason = DriverSetup.reasonInSettings(conf(DATA_IO + "=" + other), true);
            assertNotNull(reason, other);
            assertTrue(reason.contains(DATA_IO + " is " + other), reason);
        }
    }

    @Test
    void sparksLocalDiskAndOurOwnStorageAreNoReasonToStandAside() {
        assertNull(DriverSetup.reasonInSettings(conf(), true));
        for (String known : new String[] {"org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO",
            "org.verbena.spark.write.CombineOutput"}) {
            assertNull(DriverSetup.reasonInSettings(conf(DATA_IO + "=" + known), true), known);
        }
    }

    @Test
    void onlyWhereTheDriverCanReadThemDoMapTasksTellCompressedSizes() {
        String kryo = "spark.serializer=org.apache.spark.serializer.KryoSerializer";
        assertTrue(DriverSetup.canPlanWithCompressedSizes(conf()));
        assertTrue(DriverSetup.canPlanWithCompressedSizes(conf(kryo)));
        assertFalse(DriverSetup.canPlanWithCompressedSizes(conf(kryo, "spark.kryo.registrationRequired=true")));
        assertFalse(DriverSetup.canPlanWithCompressedSizes(conf("spark.serializer=com.example.Serializer")));
        assertFalse(DriverSetup.canPlanWithCompressedSizes(conf("spark.io.encryption.enabled=true")));
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(ClassLoader.getPlatformClassLoader());
        try {
            assertFalse(DriverSetup.canPlanWithCompressedSizes(conf()));
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    private static String reasonToCompress(String... settings) {
        SparkConf conf = conf(settings);
        return DriverSetup.reasonToCompress(conf, new VerbenaConf(conf));
    }

    /** With compression off, Spark's own shuffle would write a multiple. */
    @Test
    void compressionStaysOnWhereSparksOwnShuffleWillHaveToWrite() {
        assertNull(reasonToCompress("spark.master=spark://host:1", "spark.verbena.transport=tcp"));
        String noDevice = reasonToCompress("spark.master=spark://host:1", "spark.verbena.transport=rc",
            "spark.verbena.core.tl.verbs.device=no_such_device");
        assertTrue(noDevice.contains("does not start"), noDevice);
        String full = reasonToCompress("spark.master=yarn", "spark.executor.memory=8g");
        assertTrue(full.contains("no memory for map outputs"), full);
        assertNull(reasonToCompress("spark.master=yarn", "spark.executor.memory=8g", "spark.executor.memoryOverhead=4g"));
        String files = reasonToCompress("spark.master=spark://host:1", "spark.shuffle.service.enabled=true");
        assertTrue(files.contains("spark.shuffle.service.enabled"), files);
        String foreign = reasonToCompress("spark.master=local[2]", "spark.driver.host=198.51.100.7"); // of nobody (RFC 5737)
        assertTrue(foreign.contains("no address of this host"), foreign);
        assertNull(reasonToCompress("spark.master=local[2]", "spark.driver.host=127.0.0.1"));
    }

    private static boolean compresses(String... settings) {
        SparkConf conf = conf(settings);
        conf.set("spark.master", "spark://host:1").set("spark.driver.host", "192.0.2.1"); // of nobody (RFC 5737)
        conf.set("spark.verbena.transport", "tcp");
        DriverSetup.turnCompressionOff(conf, new VerbenaConf(conf));
        return conf.getBoolean("spark.shuffle.compress", true);
    }

    /** Whatever the default route of this host is like. */
    @Test
    void compressionCanBeTurnedOffByHand() {
        assertFalse(compresses("spark.verbena.compress=off"));
        assertTrue(compresses("spark.verbena.compress=as-spark"));
        assertTrue(compresses("spark.verbena.compress=off", "spark.shuffle.compress=true"), "Spark's own setting is the user's");
        assertTrue(compresses("spark.verbena.compress=off", "spark.shuffle.service.enabled=true"));
    }

    @Test
    void whereSparkReadsCopiesOfFilesByItselfTheyAreNotCompressed() {
        for (boolean copies : new boolean[] {false, true}) {
            SparkConf conf = conf("spark.master=spark://host:1", "spark.driver.host=127.0.0.1");
            if (copies) {
                conf.set("spark.storage.decommission.fallbackStorage.path", "s3a://bucket/");
            }
            DriverSetup.turnCompressionOff(conf, new VerbenaConf(conf));
            assertFalse(conf.getBoolean("spark.shuffle.compress", true));
            assertEquals(!copies, conf.getBoolean(VerbenaConf.PACK_FILES, false));
        }
    }

    private static boolean reaches(String version, String... settings) {
        return JarSender.reachesExecutors(conf(settings), version, "spark-rdma-shuffle-0.1.0.jar", Path.of("/opt/verbena"));
    }

    @Test
    void aManagerWhoseJarNoSettingGivesToTheExecutorsIsRefused() {
        String cluster = "spark.master=spark://host:1";
        String jar = "/opt/verbena/spark-rdma-shuffle-0.1.0.jar";
        assertFalse(reaches("4.2.0", cluster));
        assertFalse(reaches("4.2.0", cluster, "spark.driver.extraClassPath=" + jar));
        assertTrue(reaches("4.2.0", "spark.master=local[2]"));
        assertTrue(reaches("4.2.0", cluster, "spark.jars=a.jar," + jar));
        assertFalse(reaches("3.5.9", cluster, "spark.jars=a.jar," + jar), "3.5 fetches jars too late");
        for (String version : new String[] {"3.5.9", "4.2.0"}) {
            assertTrue(reaches(version, cluster, "spark.executor.extraClassPath=" + jar));
            assertTrue(reaches(version, cluster, "spark.executor.extraClassPath=/opt/verbena/*"));
        }
    }

    @Test
    void aJarThatLiesInSparksOwnDistributionIsThereForExecutorsToo(@TempDir Path folder) throws Exception {
        Path jars = Files.createDirectories(folder.resolve("jars"));
        String line = scala.util.Properties.versionNumberString().startsWith("2.12") ? "2.12" : "2.13";
        SparkConf conf = conf("spark.master=spark://host:1");
        assertFalse(JarSender.reachesExecutors(conf, "4.2.0", "spark-rdma-shuffle-0.1.0.jar", jars));
        Files.createFile(jars.resolve("spark-core_" + line + "-4.2.0.jar"));
        assertTrue(JarSender.reachesExecutors(conf, "4.2.0", "spark-rdma-shuffle-0.1.0.jar", jars));
    }
}
