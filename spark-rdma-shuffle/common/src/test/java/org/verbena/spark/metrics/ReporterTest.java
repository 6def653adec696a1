// SPDX-License-Identifier: Apache-2.0
// How often the driver of a large cluster hears of each executor.
package org.verbena.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.api.plugin.PluginContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReporterTest {
    @Test
    void itTellsSoonOnceThenWhenNoTaskIsLeftAndAtTheEnd() throws InterruptedException {
        LinkedBlockingQueue<Object> sent = new LinkedBlockingQueue<>();
        PluginContext context = (PluginContext) Proxy.newProxyInstance(getClass().getClassLoader(),
            new Class<?>[] {PluginContext.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("send")) {
                    sent.add(arguments[0]);
                    return null;
                }
                return "1"; // the executor's id
            });
        AtomicReference<String> choice = new AtomicReference<>("what it chose");
        Reporter reporter = new Reporter(context, () -> Map.of("tasks", 1L), choice::get, TimeUnit.HOURS.toMillis(1));
        for (int task = 0; task < 201; task++) {
            reporter.taskStarted();
        }
        for (int task = 0; task < 100; task++) {
            reporter.taskEnded();
        }
        assertNotNull(sent.poll(30, TimeUnit.SECONDS), "the choice");
        assertNotNull(sent.poll(30, TimeUnit.SECONDS), "the numbers");
        for (int task = 0; task < 100; task++) {
            reporter.taskEnded();
        }
        assertEquals(0, sent.size(), "others still run");
        reporter.taskEnded();
        assertNotNull(sent.poll(30, TimeUnit.SECONDS), "the last one has ended");
        choice.set("what it chose when it was tried again");
        reporter.close();
        assertEquals(Map.entry("1", choice.get()), sent.poll());
        assertEquals(1, sent.size());
    }
}
