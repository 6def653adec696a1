// SPDX-License-Identifier: Apache-2.0
// What the driver reads in Spark's own settings.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.junit.jupiter.api.Test;
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
}
