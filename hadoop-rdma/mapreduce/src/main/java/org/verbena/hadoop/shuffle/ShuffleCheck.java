// SPDX-License-Identifier: Apache-2.0
// What the doctor says of MapReduce's shuffle.
package org.verbena.hadoop.shuffle;

import java.io.File;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskType;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.PluginSetting;

/** Looks with the code that NodeManagers and reducers run. */
public final class ShuffleCheck {
    private static final String NAME = "mapreduce_shuffle";
    private static final String SERVICES = "yarn.nodemanager.aux-services";
    private static final String SERVICE = SERVICES + "." + NAME + ".class";
    private static final String MANIFEST = SERVICES + ".manifest.enabled";
    private static final String CONSUMER = "mapreduce.job.reduce.shuffle.consumer.plugin.class";
    private static final List<String> PATHS = List.of("mapreduce.application.classpath", "yarn.application.classpath");
    /** A release's own folders, which its variables name. */
    private static final String RELEASE = "/share/hadoop/";

    private ShuffleCheck() {
    }

    /**
     * Looks at the settings of NodeManagers and jobs.
     *
     * @param conf with mapred-site.xml and yarn-site.xml
     */
    public static void run(Configuration conf, HostReport report) {
        try {
            run(conf, Path.of(ShuffleCheck.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString(), report);
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e); // a class loader's own
        }
    }

    /** jar: where these classes come from; any other path: not from a jar. */
    static void run(Configuration conf, String jar, HostReport report) {
        try {
            ShuffleConf settings = new ShuffleConf(conf);
            report.add(Level.OK, "settings: none of verbena.shuffle.* is wrong");
            if (!settings.core()) {
                report.add(Level.WARN, "shuffle: " + PluginSetting.SHUFFLE_SOURCE
                    + " is http, map outputs come by HTTP");
            }
            memory(settings, new JobConf(conf), report);
        } catch (IllegalArgumentException e) {
            report.add(Level.BAD, "settings: " + e.getMessage());
        }
        if (named(conf, SERVICE, VerbenaShuffleHandler.class, "yarn-site.xml",
            "a NodeManager with these files serves by HTTP alone", report)) {
            service(conf, report);
        }
        if (named(conf, CONSUMER, VerbenaShuffle.class, "mapred-site.xml", "jobs run the stock shuffle", report)) {
            framework(conf, report);
            containers(conf, jar, report);
        }
        stock(conf, MRConfig.SHUFFLE_SSL_ENABLED_KEY, report);
        stock(conf, MRJobConfig.MR_ENCRYPTED_INTERMEDIATE_DATA, report);
        report.add(Level.OK, "job key: derived from each job's shuffle secret, there is none to set");
    }

    /** Hadoop's defaults leave a reducer nothing. */
    private static void memory(ShuffleConf settings, JobConf job, HostReport report) {
        int heap = JobConf.parseMaximumHeapSizeMB(job.getTaskJavaOpts(TaskType.REDUCE));
        if (heap > 0) {
            MemoryBudget budget = MemoryBudget.of(settings, job, (long) heap << 20);
            report.add(budget.limit() == 0 && settings.memory() < 0 ? Level.WARN : Level.OK,
                "memory of reducers: map outputs are kept outside the heap in up to " + budget);
            if (budget.excess() != null) {
                report.add(Level.WARN, "memory of reducers: " + budget.excess());
            }
        }
    }

    private static boolean named(Configuration conf, String key, Class<?> ours, String file, String otherwise,
            HostReport report) {
        boolean right = conf.getTrimmed(key, "").equals(ours.getName());
        if (right) {
            report.add(Level.OK, key + " names " + ours.getSimpleName());
        } else {
            report.add(Level.WARN, key + " is " + conf.getTrimmed(key, "not set") + ": " + otherwise + "; set it in " + file
                + " to " + ours.getName());
        }
        return right;
    }

    /**
     * The class of a service that no NodeManager starts has no effect, and tasks that need the service do not start. Where nothing
     * is set there is no NodeManager, perhaps.
     */
    private static void service(Configuration conf, HostReport report) {
        if (!conf.getTrimmedStringCollection(SERVICES).contains(NAME) && !conf.getBoolean(MANIFEST, false)) {
            report.add(conf.get(SERVICES) == null ? Level.WARN : Level.BAD, SERVICES + " is " + conf.getTrimmed(SERVICES, "not set")
                + ": a NodeManager with these files serves no map outputs, and jobs fail; add " + NAME + " to it in yarn-site.xml");
        }
    }

    /** Hadoop's default runs jobs without YARN. */
    private static void framework(Configuration conf, HostReport report) {
        if (conf.getTrimmed(MRConfig.FRAMEWORK_NAME, MRConfig.LOCAL_FRAMEWORK_NAME).equals(MRConfig.LOCAL_FRAMEWORK_NAME)) {
            report.add(Level.WARN, MRConfig.FRAMEWORK_NAME + " is " + MRConfig.LOCAL_FRAMEWORK_NAME
                + ": jobs run in one JVM, without a shuffle; set it in mapred-site.xml to " + MRConfig.YARN_FRAMEWORK_NAME);
        }
    }

    /** A reducer that does not find its consumer ends. */
    private static void containers(Configuration conf, String jar, HostReport report) {
        boolean known = !jar.endsWith(".jar") || jar.contains(RELEASE)
            || conf.get(MRJobConfig.MAPREDUCE_APPLICATION_FRAMEWORK_PATH) != null; // an archive with all jars of containers
        String name = new File(jar).getName();
        if (!known && PATHS.stream().flatMap(key -> Arrays.stream(conf.get(key, "").split("[,:]")))
            .noneMatch(entry -> has(entry.strip(), name))) {
            report.add(Level.WARN, "containers: " + String.join(" and ", PATHS) + " name no folder of this host with " + name
                + ": reducers end with ClassNotFoundException, unless their hosts have it elsewhere on this path; add " + jar
                + " to " + PATHS.get(0));
        }
    }

    /** entry: of a class path, a jar or a folder of jars. */
    private static boolean has(String entry, String jar) {
        return entry.endsWith("/" + jar) || entry.endsWith("/*") && new File(entry.substring(0, entry.length() - 1), jar).isFile();
    }

    private static void stock(Configuration conf, String key, HostReport report) {
        if (conf.getBoolean(key, false)) {
            report.add(Level.WARN, "shuffle: " + key + " is true, jobs run the stock shuffle");
        }
    }
}
