// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnLog;

class PluginLogTest {
    private final List<String> lines = new ArrayList<>();
    private final PluginLog log = new PluginLog(text -> lines.add("error " + text), text -> lines.add("warn " + text),
        text -> lines.add("info " + text), text -> lines.add("debug " + text));

    private void line(int level, int category, String text) {
        log.line(new VbnLog.Line(level, category, 0, text));
    }

    @Test
    void each_level_has_its_receiver() {
        line(VbnLog.ERROR, VbnLog.PROCESS, "a");
        line(VbnLog.WARN, VbnLog.PROCESS, "b");
        line(VbnLog.INFO, VbnLog.PROCESS, "c");
        line(VbnLog.DEBUG, VbnLog.PROCESS, "d");
        assertEquals(List.of("error a", "warn b", "info c", "debug d"), lines);
    }

    @Test
    void a_peer_that_was_refused_is_a_warning_with_the_plugins_setting_once_a_minute() {
        RefusalLog refusals = new RefusalLog(log, new ClusterKey("verbena.x.", "key", false));
        String text = "refused a peer over tcp: the peer does not know this job's key: ... (vbn_config_set_job_key)";
        for (int i = 0; i < 2; i++) {
            refusals.line(new VbnLog.Line(VbnLog.WARN, VbnLog.PEER_LOST, 0, text));
        }
        String warning = "warn Verbena " + text.replace("vbn_config_set_job_key", "verbena.x.key.file");
        assertEquals(List.of(warning, "debug " + text), lines);
    }

    @Test
    void a_lost_peer_is_a_debug_line() {
        line(VbnLog.WARN, VbnLog.PEER_LOST, "gone");
        line(VbnLog.ERROR, VbnLog.PEER_LOST, "worse");
        assertEquals(List.of("debug gone", "error worse"), lines);
    }
}
