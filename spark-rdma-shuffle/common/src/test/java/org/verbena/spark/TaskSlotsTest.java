// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.SparkConf;
import org.apache.spark.resource.ExecutorResourceRequests;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.TaskResourceRequests;
import org.junit.jupiter.api.Test;

class TaskSlotsTest {
    private static final int ALL = Runtime.getRuntime().availableProcessors();

    private static SparkConf conf(String master, String... settings) {
        SparkConf conf = new SparkConf(false).set("spark.master", master);
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            conf.set(parts[0], parts[1]);
        }
        return conf;
    }

    private static int slots(String master, String... settings) {
        return TaskSlots.byDefault(conf(master, settings));
    }

    @Test
    void withoutASettingAClusterManagerGivesOneCoreOrAll() {
        assertEquals(1, slots("yarn"));
        assertEquals(1, slots("k8s://https://host"));
        assertEquals(ALL, slots("spark://host:7077"));
        assertEquals(1, slots("local"));
        assertEquals(7, slots("local[7]"));
        assertEquals(7, slots("local[7, 3]"), "with failures that are allowed");
        assertEquals(ALL, slots("local[*]"));
        assertEquals(3, slots("local-cluster[2, 3, 1024]"));
    }

    @Test
    void aTaskMayHaveSeveralCores() {
        assertEquals(16, slots("yarn", "spark.executor.cores=16"));
        assertEquals(5, slots("yarn", "spark.executor.cores=16", "spark.task.cpus=3"));
        assertEquals(1, slots("yarn", "spark.task.cpus=3"), "nothing runs there, and nothing is divided by it");
        assertEquals(2, slots("spark://host:7077", "spark.executor.cores=4", "spark.task.cpus=2"));
    }

    @Test
    void anExecutorOfAnotherProfileHasItsOwnCores() {
        SparkConf conf = conf("yarn", "spark.executor.cores=8", "spark.task.cpus=2");
        ResourceProfile both = new ResourceProfileBuilder().require(new ExecutorResourceRequests().cores(12))
            .require(new TaskResourceRequests().cpus(4)).build();
        assertEquals(3, TaskSlots.byProfile(conf, both));
        ResourceProfile cores = new ResourceProfileBuilder().require(new ExecutorResourceRequests().cores(12)).build();
        assertEquals(6, TaskSlots.byProfile(conf, cores), "the rest is the default profile's");
    }

    @Test
    void blocksInFlightAreSparksOwnSetting() {
        assertEquals(48 << 20, TaskSlots.inFlight(conf("yarn")));
        assertEquals(96 << 20, TaskSlots.inFlight(conf("yarn", "spark.reducer.maxSizeInFlight=96m")));
        assertEquals(64 << 20, TaskSlots.inFlight(conf("yarn", "spark.reducer.maxSizeInFlight=64")), "MiB without a unit");
    }
}
