// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.plugin.Finding;
import org.verbena.core.plugin.HostReport;

/** Names of hosts as they come: with capitals, with and without a domain, and those that no name service knows. */
class ThisHostTest {
    @TempDir
    private Path folder;

    /** The doctor's lines about a local folder that lies on the shared file system. */
    private List<String> findings(String local, String host) {
        Configuration conf = new Configuration(false);
        conf.set("fs.lustre.impl", LustreFileSystem.class.getName());
        conf.set("fs.AbstractFileSystem.lustre.impl", LustreFs.class.getName());
        conf.set("verbena.lustre.root", folder.toString());
        conf.set("yarn.nodemanager.local-dirs", folder + "/" + local);
        HostReport report = new HostReport();
        LustreCheck.run(conf, host, report);
        return report.findings().stream().map(Finding::toString).filter(line -> line.contains("local-dirs: ")).toList();
    }

    @Test
    void theNameIsThatOfTheKernelWhetherOrNotItIsKnownElsewhere() throws IOException {
        assertEquals(Files.readString(Path.of("/proc/sys/kernel/hostname")).strip(), ThisHost.name());
        assertFalse(ThisHost.name().contains(" "), ThisHost.name());
    }

    @Test
    void namesThatDifferInCapitalsOrInAMissingDomainAreOfOneHost() {
        assertTrue(ThisHost.isSame("Node-1", "node-1"));
        assertTrue(ThisHost.isSame("node-1", "NODE-1.example.org"));
        assertTrue(ThisHost.isSame("Node-1.Example.org", "node-1.example.org"));
        assertTrue(ThisHost.isSame("", "node-1"), "not known");
        assertFalse(ThisHost.isSame("node-1", "node-10"));
        assertFalse(ThisHost.isSame("node-1.a.example", "node-1.b.example"));
    }

    @Test
    void aFolderWithTheHostsNameInOtherLettersIsItsOwn() {
        for (String local : List.of("yarn/node-1", "yarn/Node-1.Example.org", "NODE-1/yarn", "local-node-1")) {
            assertEquals(List.of(), findings(local, "Node-1.example.org"), local);
        }
        List<String> shared = findings("yarn/node-10", "Node-1.example.org");
        assertEquals(1, shared.size(), shared::toString);
        assertTrue(shared.get(0).contains("/yarn/node-10 has not the name of this host: "), shared::toString);
    }

    @Test
    void theOtherHostIsNamedAndThisOneIsNoOther() throws IOException {
        Path local = Files.createDirectories(folder.resolve("yarn/node-1"));
        Files.writeString(local.resolve(LustreCheck.HOST), "Node-1");
        assertEquals(List.of(), findings("yarn/node-1", "node-1.example.org"));
        Files.writeString(local.resolve(LustreCheck.HOST), "node-2.example.org");
        List<String> used = findings("yarn/node-1", "node-1.example.org");
        assertEquals(1, used.size(), used::toString);
        assertTrue(used.get(0).contains(": the NodeManager of node-2.example.org has used ")
            && used.get(0).contains(", and this host is node-1.example.org: "), used::toString);
    }

    @Test
    void aHostWithoutANameIsWarnedOfNoFolder() {
        assertEquals(List.of(), findings("yarn/node-1", ""));
    }
}
