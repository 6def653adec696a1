// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.lustre.ThisHost;

class DoctorTest {
    private static final String DIGITS = "0123456789abcdef".repeat(4);

    @TempDir
    private Path folder;
    private boolean good;

    private String report(String... settings) {
        Configuration conf = new Configuration(false);
        for (String setting : settings) {
            conf.set(setting.split("=", 2)[0], setting.split("=", 2)[1]);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        good = Doctor.report(conf, new PrintStream(bytes, true, StandardCharsets.UTF_8));
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private String key(String text, String mode) throws IOException {
        Path file = folder.resolve("key");
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
        return "verbena.hdfs.key.file=" + file;
    }

    @Test
    void aHostWithAKeyIsGoodAndTheLinesThatSwitchItOnAreSaid() throws IOException {
        String text = report(key(DIGITS, "rw-------"));
        assertTrue(good, text);
        assertTrue(text.contains("ok    cluster key: in " + folder), text);
        assertTrue(text.contains("ok    transports: shm,"), text);
        assertTrue(text.contains("open files: ulimit -n is "), text);
        assertTrue(text.contains("warn  dfs.datanode.plugins is not set: "), text);
        assertTrue(text.contains("hdfs-site.xml  dfs.datanode.plugins = org.verbena.hadoop.hdfs.VerbenaDataNodePlugin"), text);
    }

    @Test
    void noKeyAndAWrongOneAndOneThatAllCanReadAreSaidWithTheCure() throws IOException {
        String text = report();
        assertFalse(good, text);
        assertTrue(text.contains("BAD   cluster key: no cluster key: set verbena.hdfs.key.file"), text);
        text = report(key("too short", "rw-------"));
        assertFalse(good, text);
        assertTrue(text.contains("does not hold 64 hexadecimal digits"), text);
        text = report(key(DIGITS, "rw-r--r--"));
        assertFalse(good, text);
        assertTrue(text.contains("BAD   cluster key: verbena.hdfs.key.file: ") && text.contains(" is mode 0644: "), text);
        assertTrue(text.contains("chmod 600 " + folder), text);
        text = report(key(DIGITS, "rw-r-----"));
        assertTrue(good, text);
    }

    @Test
    void rpcIsCheckedWithItsKeyWhereAProtocolIsSwitched() throws IOException {
        String text = report(key(DIGITS, "rw-------"));
        assertTrue(text.contains("warn  rpc.engine.* names VerbenaRpcEngine for no protocol: "), text);
        String engine = "rpc.engine.org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB="
            + "org.verbena.hadoop.rpc.VerbenaRpcEngine";
        text = report(key(DIGITS, "rw-------"), engine);
        assertFalse(good, text);
        assertTrue(text.contains("ok    rpc.engine.* names VerbenaRpcEngine for 1 of "), text);
        assertTrue(text.contains("BAD   cluster key: no cluster key: set verbena.rpc.key.file"), text);
        text = report(key(DIGITS, "rw-------"), engine, "verbena.rpc.key.file=" + folder.resolve("key"));
        assertTrue(good, text);
        text = report(key(DIGITS, "rw-------"), "verbena.rpc.first.cals=1");
        assertTrue(text.contains("did you mean verbena.rpc.first.calls?"), text);
    }

    @Test
    void wrongSettingsAreNamedWithTheRightOnes() throws IOException {
        String text = report(key(DIGITS, "rw-------"), "verbena.hdfs.enabeld=true", "verbena.shuffle.memroy=1g");
        assertFalse(good, text);
        assertTrue(text.contains("did you mean verbena.hdfs.enabled?"), text);
        assertTrue(text.contains("did you mean verbena.shuffle.memory?"), text);
    }

    @Test
    void tiersWithoutTheirClassesAndWithoutRoomAreSaid() throws IOException {
        String text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh", "verbena.hdfs.memory.size=1000000g");
        assertTrue(text.contains("warn  dfs.datanode.fsdataset.factory is not set"), text);
        assertTrue(text.contains("a DataNode needs 1024000000 MiB in a tmpfs"), text);
    }

    @Test
    void aSharedPathThatIsMissingOrOfOneHostAloneIsSaid() throws IOException {
        String missing = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-l", "verbena.hdfs.shared.dir=/proc/none");
        assertFalse(good, missing);
        assertTrue(missing.contains("BAD   shared path: verbena.hdfs.shared.dir=/proc/none: there is no such folder"), missing);
        assertTrue(missing.contains("warn  dfs.net.topology.impl is not set"), missing);
        Path local = Path.of("/dev/shm"); // a tmpfs, of this host alone wherever the test runs
        String text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-l", "verbena.hdfs.shared.dir=" + local);
        assertTrue(text.contains("warn  shared path: /dev/shm has ") && text.contains("of this host alone"), text);
    }

    @Test
    void theBurstBufferAsAModeOfHdfsIsSaidWithTheFileSystemThatHasIt() throws IOException {
        String text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-l-bb");
        assertFalse(good, text);
        assertTrue(text.contains("verbena.hdfs.mode=hhh-l-bb is not possible; give hhh-l for HDFS without a burst buffer; "
            + "the burst buffer stands before the file system lustre:, which takes the place of HDFS"), text);
    }

    @Test
    void hhhMWithOneReplicaIsSaid() throws IOException {
        String text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-m", "dfs.replication=1");
        assertTrue(text.contains("BAD   mode hhh-m: dfs.replication is 1"), text);
        text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-m", "dfs.replication=1", "verbena.hdfs.memory.alone=true");
        assertFalse(text.contains("mode hhh-m: dfs.replication"), text);
    }

    @Test
    void theMeaningOfHsyncInModeHhhMIsSaid() throws IOException {
        String text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-m");
        assertTrue(text.contains("ok    mode hhh-m: hsync of a block in memory is an hflush: a power cut of all hosts takes the "
            + "data (verbena.hdfs.memory.hsync)"), text);
        text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-m", "verbena.hdfs.memory.hsync=refuse");
        assertTrue(text.contains("ok    mode hhh-m: hsync of a block in memory fails (verbena.hdfs.memory.hsync)"), text);
        text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-m", "verbena.hdfs.memory.hsync=refuse",
            "dfs.datanode.synconclose=true");
        assertTrue(text.contains("memory takes no block and no copy of one; set either back"), text);
        text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh", "verbena.hdfs.memory.hsync=refuse");
        assertTrue(text.contains("verbena.hdfs.memory.hsync=refuse has no effect without mode hhh-m"), text);
        text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh-m", "verbena.hdfs.memory.hsync=never");
        assertTrue(text.contains("verbena.hdfs.memory.hsync=never is not possible; give memory or refuse"), text);
    }

    @Test
    void movesBetweenTiersAreSaidAndWrongMarksAreNamed() throws IOException {
        String text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh");
        assertTrue(text.contains("ok    memory tier: blocks leave it above 90 % of its size, down to 80 %; a block comes in after "
            + "3 reads; copies on SSDs and disks: of blocks that leave (verbena.hdfs.memory.persist)"), text);
        text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh", "verbena.hdfs.memory.high=100",
            "verbena.hdfs.memory.promote=0", "verbena.hdfs.memory.persist=sync");
        assertTrue(text.contains("ok    memory tier: no block leaves it; no block comes in; copies on SSDs and disks: before a "
            + "file is closed (verbena.hdfs.memory.persist)"), text);
        text = report(key(DIGITS, "rw-------"), "verbena.hdfs.mode=hhh", "verbena.hdfs.memory.low=95");
        assertTrue(text.contains("BAD   memory tier: verbena.hdfs.memory.low=95 is not possible; give at most "
            + "verbena.hdfs.memory.high, which is 90"), text);
    }

    @Test
    void reducersThatKeepNothingAreSaidWithTheSettingThatHelps() throws IOException {
        String text = report(key(DIGITS, "rw-------"));
        String memory = "  memory of reducers: map outputs are kept outside the heap in up to ";
        assertTrue(text.contains("warn" + memory + "0 MiB (container of 1024 MiB less heap of 820 MiB less 253 MiB for the JVM; "
            + "more by mapreduce.reduce.memory.mb, or a smaller -Xmx in mapreduce.reduce.java.opts)"), text);
        text = report(key(DIGITS, "rw-------"), "mapreduce.reduce.memory.mb=2048", "mapreduce.reduce.java.opts=-Xmx1024m");
        assertTrue(text.contains("ok  " + memory + "758 MiB "), text);
    }

    @Test
    void aSharedFolderIsTriedAndNothingIsLeftInIt() throws IOException {
        String root = "verbena.lustre.root=" + folder;
        String text = report("fs.defaultFS=lustre:///", root, "fs.lustre.impl=org.verbena.hadoop.lustre.LustreFileSystem",
            "fs.AbstractFileSystem.lustre.impl=org.verbena.hadoop.lustre.LustreFs",
            "yarn.nodemanager.local-dirs=" + folder + ",/tmp");
        assertTrue(good, text);
        assertTrue(text.contains("ok    lustre: links: hard and symbolic ones work"), text);
        assertTrue(text.contains("ok    lustre: inodes: a renamed file keeps its own"), text);
        assertTrue(text.contains("ok    lustre: locks: fcntl locks work; lustre: needs none"), text);
        assertTrue(text.contains("ok    map outputs: 1 of 2 local folders"), text);
        assertTrue(text.contains("ok    HDFS: not looked at, since fs.defaultFS is lustre:"), text);
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(0, left.count());
        }
        text = report("fs.defaultFS=lustre:///", root + "/missing", "verbena.lustre.stripe.count=2");
        assertFalse(good, text);
        assertTrue(text.contains("BAD   fs.lustre.impl is not set: clients do not know lustre:; set it in core-site.xml"), text);
        assertTrue(text.contains("BAD   lustre: the root " + folder + "/missing is not a folder"), text);
    }

    private String localFolders(String name) {
        return report("fs.defaultFS=lustre:///", "verbena.lustre.root=" + folder,
            "fs.lustre.impl=org.verbena.hadoop.lustre.LustreFileSystem",
            "fs.AbstractFileSystem.lustre.impl=org.verbena.hadoop.lustre.LustreFs", "yarn.nodemanager.local-dirs=" + folder + name);
    }

    @Test
    void aLocalFolderThatNodeManagersWouldShareIsSaidWithTheCure() throws IOException {
        String host = ThisHost.name();
        String cure = "name a folder for each host, such as ROOT/yarn/${env.HOSTNAME}";
        String text = localFolders("/nm-local-dir");
        assertTrue(text.contains("warn  yarn.nodemanager.local-dirs: " + folder + "/nm-local-dir has not the name of this host: "
            + "NodeManagers with the same file would share it, and delete each other's files; " + cure), text);
        text = localFolders("/yarn/" + host);
        assertTrue(text.contains("ok    map outputs: 1 of 1 local folders"), text);
        assertFalse(text.contains(cure), text);
        Files.writeString(Files.createDirectories(folder.resolve("yarn/" + host)).resolve("verbena-host"), "other.example");
        text = localFolders("/yarn/" + host);
        assertTrue(text.contains("warn  yarn.nodemanager.local-dirs: the NodeManager of other.example has used "), text);
        text = localFolders("/yarn/${env.VERBENA_NO_SUCH_VARIABLE}");
        assertTrue(text.contains("warn  yarn.nodemanager.local-dirs is ") && text.contains("; export it in yarn-env.sh"), text);
        assertTrue(good, text);
    }

    @Test
    void aNameNodeThatDoesNotAnswerIsOneLine() throws IOException {
        try (Socket silent = new Socket()) { // bound: nobody else gets the port; and not listening
            silent.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            String place = "hdfs://127.0.0.1:" + silent.getLocalPort();
            String text = report(key(DIGITS, "rw-------"), "fs.defaultFS=" + place,
                "fs.hdfs.impl=org.apache.hadoop.hdfs.DistributedFileSystem");
            assertFalse(good, text);
            assertTrue(text.contains("BAD   cluster: " + place + ": ") && text.contains("are its daemons running?"), text);
        }
    }
}
