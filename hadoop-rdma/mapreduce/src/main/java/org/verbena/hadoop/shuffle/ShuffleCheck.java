// SPDX-License-Identifier: Apache-2.0
// What the doctor says of MapReduce's shuffle.
package org.verbena.hadoop.shuffle;

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
    private static final String SERVICE = "yarn.nodemanager.aux-services.mapreduce_shuffle.class";
    private static final String CONSUMER = "mapreduce.job.reduce.shuffle.consumer.plugin.class";

    private ShuffleCheck() {
    }

    /**
     * Looks at the settings of NodeManagers and jobs.
     *
     * @param conf with mapred-site.xml and yarn-site.xml
     */
    public static void run(Configuration conf, HostReport report) {
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
        named(conf, SERVICE, VerbenaShuffleHandler.class, "yarn-site.xml",
            "a NodeManager with these files serves by HTTP alone", report);
        named(conf, CONSUMER, VerbenaShuffle.class, "mapred-site.xml", "jobs run the stock shuffle", report);
        stock(conf, MRConfig.SHUFFLE_SSL_ENABLED_KEY, report);
        stock(conf, MRJobConfig.MR_ENCRYPTED_INTERMEDIATE_DATA, report);
        report.add(Level.OK, "job key: derived from each job's shuffle secret, there is none to set");
    }

    /** Hadoop's defaults leave a reducer nothing. */
    private static void memory(ShuffleConf settings, JobConf job, HostReport report) {
        int heap = JobConf.parseMaximumHeapSizeMB(job.getTaskJavaOpts(TaskType.REDUCE));
        if (settings.memory() < 0 && heap > 0) {
            MemoryBudget budget = MemoryBudget.of((long) job.getMemoryRequired(TaskType.REDUCE) << 20, (long) heap << 20,
                job.getInt(MRJobConfig.SHUFFLE_PARALLEL_COPIES, MemoryBudget.FETCHERS));
            report.add(budget.limit() == 0 ? Level.WARN : Level.OK,
                "memory of reducers: map outputs are kept outside the heap in up to " + budget);
        }
    }

    private static void named(Configuration conf, String key, Class<?> ours, String file, String otherwise, HostReport report) {
        if (conf.getTrimmed(key, "").equals(ours.getName())) {
            report.add(Level.OK, key + " names " + ours.getSimpleName());
        } else {
            report.add(Level.WARN, key + " is " + conf.getTrimmed(key, "not set") + ": " + otherwise + "; set it in " + file
                + " to " + ours.getName());
        }
    }

    private static void stock(Configuration conf, String key, HostReport report) {
        if (conf.getBoolean(key, false)) {
            report.add(Level.WARN, "shuffle: " + key + " is true, jobs run the stock shuffle");
        }
    }
}
