// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Which processes have surely ended. */
class OwnerTest {
    /** Here processes see each other: not so in a sandbox, or where /proc hides those of others. */
    private static void assumeKnown() {
        assumeTrue(Owner.isKnown(Owner.here()), Owner::here);
    }

    /** Of a process that has ended. */
    static String ended() throws Exception {
        assumeKnown();
        Process process = new ProcessBuilder("sleep", "1000").start();
        String owner = Owner.of(process.pid());
        assertFalse(Owner.hasEnded(owner));
        process.destroyForcibly().waitFor();
        return owner;
    }

    @Test
    void a_process_has_ended_when_it_is_killed() throws Exception {
        assertTrue(Owner.hasEnded(ended()));
        assertFalse(Owner.hasEnded(Owner.here()));
    }

    @Test
    void another_process_with_the_same_id_is_not_the_one_that_has_ended() {
        assumeKnown();
        assertTrue(Owner.hasEnded(Owner.here() + "0"));
    }

    @Test
    void of_other_hosts_and_other_spaces_of_ids_nothing_is_known() throws Exception {
        String ended = ended();
        String[] words = ended.split("/");
        assertFalse(Owner.hasEnded(ended.replace(words[0], "other")));
        assertFalse(Owner.hasEnded(ended.replace(words[2], "pid:[1]")));
        for (String none : new String[] {"", "-", "x", "/", words[0] + "/" + words[1]}) {
            assertFalse(Owner.hasEnded(none), none);
        }
    }

    @Test
    void of_a_copy_of_this_virtual_machine_with_a_name_or_an_address_of_its_own_nothing_is_known() throws Exception {
        String ended = ended();
        String process = ended.substring(ended.lastIndexOf('/', ended.lastIndexOf('/') - 1));
        String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        assertTrue(Owner.hasEnded(Owner.space(host, Owner.addresses()) + process));
        assertFalse(Owner.hasEnded(Owner.space(host + "2", Owner.addresses()) + process));
        assertFalse(Owner.hasEnded(Owner.space(host, Owner.addresses() + " 192.0.2.1") + process));
    }
}
