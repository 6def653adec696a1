// SPDX-License-Identifier: Apache-2.0
// Decides on the driver, before executors start, whether and how the plugin takes part.
package org.verbena.spark;

import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnConfig;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.settings.VerbenaConf;
import org.verbena.spark.write.CombineOutput;
import org.verbena.spark.write.PlannedStatus;

/** Writes its decisions into the Spark configuration, which travels to the executors. */
final class DriverSetup {
    static final String DECLINED = VerbenaConf.INTERNAL + "declined";
    static final String SECRET = VerbenaConf.INTERNAL + "secret";
    static final String REMOTE = VerbenaConf.INTERNAL + "remote";
    private static final Logger LOG = LoggerFactory.getLogger(DriverSetup.class);
    /** Why map outputs are files where {@link #needsFiles}. */
    static final String FILES_ONLY = "the external shuffle service, spark.shuffle.service.enabled, serves files only";
    private static final String MANAGER = "spark.shuffle.manager";
    private static final String DATA_IO = "spark.shuffle.sort.io.plugin.class";
    private static final String STOCK_IO = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";
    /** Where Spark keeps copies of shuffle files, and reads them without asking the block resolver. */
    private static final String FALLBACK_STORAGE = "spark.storage.decommission.fallbackStorage.path";
    private static final int FAST_NETWORK_MBIT = 50_000;

    private DriverSetup() {
    }

    /**
     * Checks and completes the configuration once; throws for a wrong setting.
     *
     * @param fromPlugin called by the plugin (which on Spark 4 runs before the shuffle manager is made)
     */
    static synchronized void prepare(SparkConf conf, boolean fromPlugin) {
        if (!Decisions.begin(conf)) {
            return;
        }
        conf.set(Build.KEY, Build.here());
        VerbenaConf settings = new VerbenaConf(conf);
        settings.checkCore();
        String reason = reasonToDecline(conf, settings, fromPlugin);
        if (reason == null && !fromPlugin) {
            JarSender.refuseWithoutJar(conf, SparkShim.sparkVersion());
        }
        if (reason != null) {
            standAside(conf, reason);
            return;
        }
        Decisions.set(conf, MANAGER, VerbenaShuffleManager.class.getName());
        Decisions.set(conf, DATA_IO, CombineOutput.class.getName());
        if (!conf.getBoolean("spark.authenticate", false)) {
            byte[] key = new byte[32];
            new SecureRandom().nextBytes(key);
            conf.set(SECRET, HexFormat.of().formatHex(key));
        }
        boolean remote = CoreStart.reachesOthers(CoreStart.settings(settings, mustEncrypt(conf, settings)));
        conf.set(REMOTE, Boolean.toString(remote));
        if (mustEncrypt(conf, settings)) {
            LOG.info(remote ? "Spark's network encryption is on: Verbena sends by TCP with TLS 1.3, and not by RDMA"
                : "Spark's network encryption is on, and spark.verbena.transport leaves nothing that could be encrypted: "
                    + "Verbena reads mapped memory inside a host only; allow tcp, or set spark.verbena.allowCleartextData=true");
        }
        turnCompressionOff(conf, settings);
        ShuffleCompression.follow(SparkEnv.get(), conf);
    }

    /** Tells the executors, and takes back what has been decided; before there are any. */
    static void standAside(SparkConf conf, String reason) {
        LOG.warn("Verbena stands aside, Spark's own shuffle is used: {}", reason);
        Decisions.beginAgain(conf);
        conf.set(DECLINED, reason);
        ShuffleCompression.follow(SparkEnv.get(), conf); // which this or an earlier application may have turned off
    }

    /** Only where our shuffle can work, as far as this host tells: Spark's own would write four times the bytes. */
    static void turnCompressionOff(SparkConf conf, VerbenaConf settings) {
        if (!settings.compressAuto() && !settings.compressOff() || conf.contains("spark.shuffle.compress")) {
            return;
        }
        String network = settings.compressOff() ? null : reasonOfNetwork(conf, settings);
        String reason = network != null ? network : reasonToCompress(conf, settings);
        if (reason != null) {
            LOG.info("shuffle compression stays on: {}", reason);
            return;
        }
        Decisions.set(conf, "spark.shuffle.compress", "false");
        conf.set(VerbenaConf.PLAN_COMPRESSED, Boolean.toString(canPlanWithCompressedSizes(conf)));
        conf.set(VerbenaConf.PACK_FILES, Boolean.toString(!conf.contains(FALLBACK_STORAGE)));
        LOG.info("Verbena turns shuffle compression off, {}; spark.verbena.compress=as-spark keeps it", settings.compressOff()
            ? "as spark.verbena.compress says" : "bytes travel through memory or a fast network");
    }

    /** Why map outputs may have to be Spark's files; null when nothing here says so. */
    static String reasonToCompress(SparkConf conf, VerbenaConf settings) {
        String master = conf.get("spark.master", "");
        Map<String, String> core = CoreStart.settings(settings, mustEncrypt(conf, settings));
        if (needsFiles(conf)) {
            return FILES_ONLY;
        } else if (!ShuffleCompression.canFollow(conf)) {
            return "this Spark has read spark.shuffle.compress before plugins start";
        }
        try {
            if (ContainerMemory.isSized(conf) && ContainerMemory.ofExecutors(conf).room(1) < VerbenaConf.LEAST_MEMORY) {
                return "the executors' containers have no memory for map outputs (a " + ContainerMemory.ofExecutors(conf).sum(1)
                    + ")";
            }
            if (master.startsWith("local") || master.isEmpty()) {
                SlabBudget budget = SlabBudget.ofExecutors(conf, settings, ShuffleEngine.ROOT);
                if (budget.bytes() == 0) {
                    return budget.warning();
                }
                CoreStart.address(conf.get("spark.driver.host", "localhost"), core);
            }
            VbnConfig config = new VbnConfig().jobKey(new byte[VbnConfig.JOB_KEY_BYTES]);
            CoreStart start = CoreStart.open(() -> config, core, true, false, conf);
            start.engine().close();
            start.context().close();
            return null;
        } catch (IOException | LinkageError e) {
            return "the native core does not start on the driver's host: " + VerbenaConf.inUsersWords(
                String.valueOf(e.getMessage()));
        }
    }

    /** Whether map outputs have to be Spark's files, because others than executors serve them. */
    static boolean needsFiles(SparkConf conf) {
        return conf.getBoolean("spark.shuffle.service.enabled", false);
    }

    /** Whether nothing may leave a host in clear text. */
    static boolean mustEncrypt(SparkConf conf, VerbenaConf settings) {
        return encryptsNetwork(conf) && !settings.cleartextAllowed();
    }

    /**
     * Whether map tasks can tell the driver two sizes. Encrypted bytes say nothing about how well the plain ones would
     * have been compressed; and results of tasks must be able to bring a class of ours.
     */
    static boolean canPlanWithCompressedSizes(SparkConf conf) {
        String serializer = conf.get("spark.serializer", JavaSerializer.class.getName());
        boolean kryo = serializer.equals(KryoSerializer.class.getName());
        try {
            Class.forName(PlannedStatus.class.getName(), false, Thread.currentThread().getContextClassLoader());
        } catch (ClassNotFoundException e) {
            return false;
        }
        return !conf.getBoolean("spark.io.encryption.enabled", false)
            && (kryo ? !conf.getBoolean("spark.kryo.registrationRequired", false)
                : serializer.equals(JavaSerializer.class.getName()));
    }

    /** Whether Spark would encrypt what it sends: any of the settings that its SecurityManager and SSLOptions read. */
    static boolean encryptsNetwork(SparkConf conf) {
        return conf.getBoolean("spark.network.crypto.enabled", false)
            || conf.getBoolean("spark.authenticate.enableSaslEncryption", false)
            || conf.getBoolean("spark.ssl.rpc.enabled", false);
    }

    /** Why Spark's own shuffle has to be used with this configuration; null when ours can be. */
    static String reasonToDecline(SparkConf conf, VerbenaConf settings, boolean fromPlugin) {
        if (!settings.enabled()) {
            return "spark.verbena.enabled is false";
        } else if (!fromPlugin && !isAskedFor(conf)) {
            return "neither spark.plugins nor " + MANAGER + " names Verbena; the configuration is that of an earlier application";
        } else if (SparkShim.load() == null) {
            return "Spark " + SparkShim.sparkVersion() + " is not known to this version (" + SparkShim.KNOWN + ")";
        }
        return reasonInSettings(conf, fromPlugin);
    }

    /** Whether a setting of the user's names us. */
    private static boolean isAskedFor(SparkConf conf) {
        return conf.get(MANAGER, "").equals(VerbenaShuffleManager.class.getName())
            || conf.get("spark.plugins", "").contains(VerbenaPlugin.class.getName());
    }

    /** What among Spark's own settings speaks against ours; null when nothing does. */
    static String reasonInSettings(SparkConf conf, boolean fromPlugin) {
        String manager = conf.get(MANAGER, "sort");
        boolean ours = manager.equals(VerbenaShuffleManager.class.getName());
        boolean stock = manager.equals("sort") || manager.equals("tungsten-sort")
            || manager.equals("org.apache.spark.shuffle.sort.SortShuffleManager");
        String io = conf.get(DATA_IO, "");
        if (!ours && !stock) {
            return MANAGER + " is " + manager;
        } else if (!ours && fromPlugin && SparkShim.sparkVersion().startsWith("3.")) {
            return "Spark 3.5 makes its shuffle manager before plugins start; set " + MANAGER + "="
                + VerbenaShuffleManager.class.getName() + " and put the jar on spark.driver.extraClassPath and "
                + "spark.executor.extraClassPath";
        } else if (conf.getBoolean("spark.shuffle.push.enabled", false)) {
            return "push-based shuffle (spark.shuffle.push.enabled) needs Spark's files";
        } else if (conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)) {
            return "spark.shuffle.useOldFetchProtocol is on";
        } else if (!io.isEmpty() && !io.equals(STOCK_IO) && !io.equals(CombineOutput.class.getName())) {
            return DATA_IO + " is " + io + ", which keeps map outputs in a way of its own";
        }
        return null;
    }

    /** Why bytes travel through something slow; null when executors share this host's memory, or the network is fast. */
    private static String reasonOfNetwork(SparkConf conf, VerbenaConf settings) {
        String host = conf.get("spark.driver.host", "");
        if (conf.get("spark.master", "").startsWith("local") || host.equals("localhost") || host.startsWith("127.")) {
            return null;
        }
        Map<String, String> core = CoreStart.settings(settings, mustEncrypt(conf, settings));
        String devices = CoreStart.usesRdma(core) ? core.getOrDefault("tl.verbs.device", "") : null;
        NetworkSpeed speed = NetworkSpeed.here(Path.of("/"), host, devices);
        return speed.mbit() >= FAST_NETWORK_MBIT ? null : speed.of() + " has " + speed.mbit() + " Mbit/s, less than "
            + FAST_NETWORK_MBIT + "; spark.verbena.compress=off turns compression off all the same";
    }
}
