// SPDX-License-Identifier: Apache-2.0
// What others see of an application: its metrics while it runs, its tab in the history server afterwards.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.history.FsHistoryProvider;
import org.apache.spark.deploy.history.HistoryServer;
import org.apache.spark.deploy.history.HistoryServer$;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.spark.VerbenaPlugin;

@Timeout(180)
class SeenFromOutsideTest {
    private static final long WAIT_NANOS = 90_000_000_000L;
    private static final String SINK = "spark.metrics.conf.*.sink.prometheusServlet.";

    @TempDir
    private Path folder;

    /** Asks again until the answer is as wanted; the last answer. */
    private static String await(String url, Predicate<String> wanted) throws Exception {
        HttpClient client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL)
            .proxy(HttpClient.Builder.NO_PROXY).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(30)).build();
        long deadline = System.nanoTime() + WAIT_NANOS;
        String answer = "";
        while (!wanted.test(answer) && System.nanoTime() < deadline) {
            Thread.sleep(50);
            answer = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        }
        return answer;
    }

    private static long number(String metrics, String name) {
        Matcher line = Pattern.compile("_plugin_org_verbena_spark_VerbenaPlugin_" + name + "_Value\\{[^}]*\\} ([0-9]+)")
            .matcher(metrics);
        return line.find() ? Long.parseLong(line.group(1)) : -1;
    }

    private String run(String... more) throws Exception {
        String[] settings = {"spark.ui.enabled=true", "spark.ui.port=0", "spark.eventLog.enabled=true",
            "spark.eventLog.dir=" + Files.createDirectories(folder.resolve("events")).toUri(),
            SINK + "class=org.apache.spark.metrics.sink.PrometheusServlet", SINK + "path=/metrics/prometheus", more[0]};
        try (Application application = new Application(settings)) {
            assertEquals(10, application.pairs().groupByKey(3).count());
            String page = application.context().sc().uiWebUrl().get() + "/metrics/prometheus/";
            if (more[0].endsWith("true")) {
                String metrics = await(page, text -> number(text, "executors_slab_written_bytes") > 0
                    && number(text, "executors_slab_written_bytes") == number(text, "slab_written_bytes")); // all is told
                assertTrue(number(metrics, "executors_slab_written_bytes") > 0, metrics);
                assertEquals(number(metrics, "slab_written_bytes"), number(metrics, "executors_slab_written_bytes"), metrics);
                assertEquals(1, number(metrics, "executors"), metrics);
                assertTrue(number(metrics, "executors_direct_bound_bytes") > 0, metrics);
                assertEquals(0, number(metrics, "executors_fetch_timeouts"), metrics);
            }
            return application.context().sc().applicationId();
        }
    }

    /** Spark warns of a source that comes before the application has its id, in {@code local[n]}. */
    @Test
    void metricsOfALocalApplicationHaveOneSource() {
        try (Application application = new Application()) {
            assertEquals(10, application.pairs().groupByKey(3).count());
            assertEquals(1, SparkEnv.get().metricsSystem().getSourcesByName("plugin." + VerbenaPlugin.class.getName()).size());
        }
    }

    @Test
    void metricsHaveTheSumsOfTheTabAndTheHistoryServerShowsIt() throws Exception {
        String used = run("spark.verbena.enabled=true");
        String aside = run("spark.verbena.enabled=false");
        // Its own store is on disk, as that of a history server with many applications.
        SparkConf conf = new SparkConf(false).set("spark.history.fs.logDirectory", folder.resolve("events").toUri().toString())
            .set("spark.history.store.path", Files.createDirectories(folder.resolve("store")).toString())
            .set("spark.history.fs.update.interval", "1s");
        FsHistoryProvider provider = new FsHistoryProvider(conf);
        HistoryServer server = new HistoryServer(conf, provider, HistoryServer$.MODULE$.createSecurityManager(conf), 0);
        server.bind();
        try {
            provider.start();
            String base = "http://127.0.0.1:" + server.boundPort() + "/history/";
            String page = await(base + used + "/verbena/", text -> text.contains("All executors together"));
            assertTrue(page.contains("Bytes by path") && page.contains("99th percentile")
                && page.contains("map outputs in memory, at most"), page);
            page = await(base + aside + "/verbena/", text -> text.contains("stands aside"));
            assertTrue(page.contains("spark.verbena.enabled is false"), page);
        } finally {
            server.stop();
        }
    }
}
