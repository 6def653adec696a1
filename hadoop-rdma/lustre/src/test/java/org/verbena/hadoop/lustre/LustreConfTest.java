// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

/** The settings of lustre: as tasks see them. */
class LustreConfTest {
    private static final String SERVERS = "verbena.lustre.buffer.servers";

    /** A task has the site files of its node, and over them the job's, which come as files both. */
    private static LustreConf ofTask(String ofSite, String ofJob) throws IOException {
        Configuration task = new Configuration(false);
        for (String value : new String[] {ofSite, ofJob}) {
            Configuration one = new Configuration(false);
            one.set(SERVERS, value);
            ByteArrayOutputStream file = new ByteArrayOutputStream();
            one.writeXml(file);
            task.addResource(new ByteArrayInputStream(file.toByteArray()));
        }
        return LustreConf.of(task);
    }

    @Test
    void a_job_goes_without_the_buffer_of_its_cluster_by_a_word() throws Exception {
        assertEquals("bb1:11211", ofTask("bb1:11211", "").buffer().servers(), "Hadoop forgets an empty value");
        assertEquals("", ofTask("bb1:11211", "none").buffer().servers());
        assertEquals("bb2:11211", ofTask("none", "bb2:11211").buffer().servers());
        assertTrue(ofTask("none", "bb2:11211").buffer().isOn());
    }

    @Test
    void a_wrong_server_is_named_with_its_setting() {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, () -> ofTask("", "bb1:port"));
        assertTrue(wrong.getMessage().startsWith(SERVERS + ": "), wrong.getMessage());
    }

    @Test
    void a_wrong_level_of_losses_is_named_with_the_right_ones() {
        Configuration conf = new Configuration(false);
        conf.set("verbena.lustre.buffer.fault", "asynch");
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, () -> LustreConf.of(conf));
        assertEquals("verbena.lustre.buffer.fault=asynch is not possible; give async or async-local or sync", wrong.getMessage());
    }
}
