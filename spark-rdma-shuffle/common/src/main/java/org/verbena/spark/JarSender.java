// SPDX-License-Identifier: Apache-2.0
// Gives the plugin's jar to executors whose workers do not have it.
package org.verbena.spark;

import java.io.File;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where --jars does not name the jar but the driver has it, executors would fail with ClassNotFoundException. */
final class JarSender {
    private static final Logger LOG = LoggerFactory.getLogger(JarSender.class);
    private static final String INITIAL = "spark.app.initial.jar.urls";

    private JarSender() {
    }

    /**
     * To be called before executors start. An executor that has the jar on its class path goes on using that one. Nothing
     * on Spark 3.5: it makes the shuffle manager before it fetches jars, so that its class path must have ours.
     */
    static void send(SparkContext context, SparkConf conf) {
        if (context.version().startsWith("3.")) {
            return;
        }
        Path jar = jar();
        if (jar == null || url(context, jar) != null) {
            return;
        }
        context.addJar(jar.toString());
        String url = url(context, jar);
        if (url != null) {
            // Executors load these before their plugins; jars added later come with the tasks only.
            String before = conf.get(INITIAL, "");
            Decisions.set(conf, INITIAL, before.isEmpty() ? url : before + "," + url);
            LOG.info("{} is sent to the executors, because --jars does not name it", jar);
        }
    }

    /**
     * The manager without the plugin sends no jar: executors that do not have it would end and be started again for ever.
     *
     * @throws IllegalArgumentException when no setting gives the jar to the executors
     */
    static void refuseWithoutJar(SparkConf conf, String version) {
        Path jar = jar();
        if (jar != null && !reachesExecutors(conf, version, jar.getFileName().toString(), jar.getParent())) {
            throw new IllegalArgumentException("spark.shuffle.manager is " + VerbenaShuffleManager.class.getName() + ", but no "
                + "setting gives " + jar.getFileName() + " to the executors, which would fail and be started again for ever; "
                + (version.startsWith("3.") ? "put the jar on spark.executor.extraClassPath" : "add spark.plugins="
                    + VerbenaPlugin.class.getName() + ", which sends the jar, or name the jar in spark.jars (--jars) or "
                    + "spark.executor.extraClassPath"));
        }
    }

    /**
     * Whether a setting names the jar, or something that may contain it.
     *
     * @param folder where the driver has it
     */
    static boolean reachesExecutors(SparkConf conf, String version, String name, Path folder) {
        String master = conf.get("spark.master", "");
        boolean inDistribution = folder != null && folder.endsWith("jars") && Files.isRegularFile(folder.resolve(
            "spark-core_" + scala.util.Properties.versionNumberString().replaceFirst("\\.[0-9]+$", "") + "-" + version + ".jar"));
        if (inDistribution || master.startsWith("local[") || master.equals("local")) {
            return true;
        }
        List<String> keys = new ArrayList<>(List.of("spark.executor.extraClassPath", "spark.yarn.jars", "spark.yarn.archive"));
        if (!version.startsWith("3.")) { // fetches jars after it has made the manager
            keys.addAll(List.of("spark.jars", "spark.yarn.dist.jars", "spark.jars.packages", INITIAL));
        }
        return keys.stream().map(key -> conf.get(key, "")).anyMatch(value -> value.contains(name) || value.contains("*")
            || value.contains("spark-rdma-shuffle") || value.endsWith(".zip"));
    }

    /** Null when the classes do not come from a jar. */
    private static Path jar() {
        try {
            File file = new File(JarSender.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            return file.isFile() ? file.toPath() : null;
        } catch (URISyntaxException | IllegalArgumentException e) {
            return null;
        }
    }

    /** Where executors get a jar of this name; null when the application has none. */
    private static String url(SparkContext context, Path jar) {
        scala.collection.Iterator<String> urls = context.listJars().iterator();
        while (urls.hasNext()) {
            String url = urls.next();
            if (url.endsWith("/" + jar.getFileName())) {
                return url;
            }
        }
        return null;
    }
}
