// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ShellsTest {
    private static final String SUBMIT = "org.apache.spark.deploy.SparkSubmit --master local[2] ";

    private static String said(String declined, String command) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Shells.greet(declined, command, new PrintStream(bytes, true, StandardCharsets.UTF_8));
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void eachShellShowsOneLine() {
        for (String shell : new String[] {"--class org.apache.spark.repl.Main --name Spark shell spark-shell",
            "--class org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver spark-internal", "pyspark-shell"}) {
            String text = said(null, SUBMIT + shell);
            assertTrue(text.startsWith("Verbena 0.1.0 ") && text.indexOf('\n') == text.length() - 1, shell + text);
        }
    }

    @Test
    void applicationsAndShellsWithoutVerbenaShowNone() {
        assertEquals("", said(null, SUBMIT + "--class Main main.jar"));
        assertEquals("", said("spark.verbena.enabled is false", SUBMIT + "pyspark-shell"));
    }
}
