// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.verbena.spark.Doctor;

class DoctorTest {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    private boolean report(boolean executors, String... settings) {
        SparkConf conf = new SparkConf(false).setMaster("local[2]").set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1");
        for (String setting : settings) {
            conf.set(setting.split("=", 2)[0], setting.split("=", 2)[1]);
        }
        return Doctor.report(conf, executors, new PrintStream(bytes, true, StandardCharsets.UTF_8));
    }

    private String text() {
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void aHostWithoutTroubleIsSaidToBeGoodWithTheLinesThatSwitchVerbenaOn() {
        assertTrue(report(true), text());
        assertTrue(text().contains("ok    Spark 4.2.0"), text());
        assertTrue(text().contains("ok    transports: shm,"), text());
        assertTrue(text().contains("the driver on "), text());
        assertEquals(2, text().split("native library: loaded", -1).length - 1, text());
        assertTrue(text().contains("  spark.plugins org.verbena.spark.VerbenaPlugin"), text());
    }

    @Test
    void aWrongSettingIsNamedWithTheRightOne() {
        assertFalse(report(true, "spark.verbena.memroy=1g"), text());
        assertTrue(text().contains("BAD   ") && text().contains("did you mean spark.verbena.memory?"), text());
    }

    @Test
    void aWrongValueForTheCoreIsFound() {
        assertFalse(report(false, "spark.verbena.transport=smh"), text());
        assertTrue(text().contains("spark.verbena.transport is wrong"), text());
    }

    @Test
    void whatMakesThePluginStandAsideIsSaid() {
        assertFalse(report(false, "spark.shuffle.useOldFetchProtocol=true"), text());
        assertTrue(text().contains("will stand aside: spark.shuffle.useOldFetchProtocol is on"), text());
    }

    @Test
    void withTheExternalShuffleServiceMapOutputsAreSaidToBeFiles() {
        assertTrue(report(false, "spark.shuffle.service.enabled=true"), text());
        assertTrue(text().contains("map outputs are Spark's files: the external shuffle service"), text());
    }

    /** What executors get is told by their configuration, not by the heap of the JVM that asks. */
    @Test
    void onYarnWithSparksOverheadExecutorsAreSaidToHaveNoMemoryForMapOutputs() {
        assertFalse(report(false, "spark.master=yarn", "spark.executor.memory=8g"), text());
        assertTrue(text().contains("BAD   map outputs go to Spark's files, because nothing is left of a container of 9011 MiB less "
            + "8192 MiB of heap"), text());
        assertTrue(text().contains("raise spark.executor.memoryOverhead"), text());
    }

    @Test
    void onYarnWithMoreOverheadTheirMemoryIsSaid() {
        report(false, "spark.master=yarn", "spark.executor.memory=1g", "spark.executor.memoryOverhead=1g");
        assertTrue(text().contains("ok    map outputs: at most 448 MiB per executor"), text());
    }

    @Test
    void theLinesForSpark3NameTheClassPath() {
        List<String> lines = Doctor.defaults("3.5.9", "/opt/v.jar");
        assertTrue(lines.contains("spark.executor.extraClassPath /opt/v.jar"), lines.toString());
        assertTrue(lines.contains("spark.shuffle.manager org.verbena.spark.VerbenaShuffleManager"), lines.toString());
    }
}
