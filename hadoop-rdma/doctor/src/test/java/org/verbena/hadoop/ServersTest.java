// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.tools.GetUserMappingsProtocol;
import org.apache.hadoop.tools.proto.GetUserMappingsProtocolProtos.GetUserMappingsProtocolService;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolServerSideTranslatorPB;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.rpc.VerbenaRpcEngine;

/** Servers of Hadoop's RPC that the doctor calls, over the default file system lustre:, which has none of its own. */
class ServersTest {
    private static final String ENGINE = "rpc.engine.";
    private static final String YARN = ENGINE + "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
    private static final String ADDRESS = "yarn.resourcemanager.address";

    @TempDir
    private Path folder;

    private Configuration conf(String... settings) {
        Configuration conf = new Configuration(false);
        conf.set("fs.defaultFS", "lustre:///");
        conf.set("verbena.lustre.root", folder.toString());
        conf.set("fs.lustre.impl", "org.verbena.hadoop.lustre.LustreFileSystem");
        conf.set("fs.AbstractFileSystem.lustre.impl", "org.verbena.hadoop.lustre.LustreFs");
        conf.set("verbena.rpc.auth", "none");
        conf.set("verbena.core.proto.cost_file", "none");
        conf.set(YARN, VerbenaRpcEngine.class.getName());
        for (String setting : settings) {
            conf.set(setting.split("=", 2)[0], setting.split("=", 2)[1]);
        }
        return conf;
    }

    /** A server that takes no part in anything else. */
    private RPC.Server server() throws IOException {
        Configuration conf = conf();
        conf.set(ENGINE + GetUserMappingsProtocolPB.class.getName(), VerbenaRpcEngine.class.getName());
        GetUserMappingsProtocol nobody = user -> new String[0];
        RPC.Server made = new RPC.Builder(conf).setProtocol(GetUserMappingsProtocolPB.class)
            .setInstance(GetUserMappingsProtocolService
                .newReflectiveBlockingService(new GetUserMappingsProtocolServerSideTranslatorPB(nobody)))
            .setBindAddress("127.0.0.1").setPort(0).setNumHandlers(1).build();
        made.start();
        return made;
    }

    private static Socket closed() throws IOException {
        Socket silent = new Socket(); // bound: nobody else gets the port; and not listening
        silent.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        return silent;
    }

    private static String report(Configuration conf) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        boolean good = Doctor.report(conf, new PrintStream(bytes, true, StandardCharsets.UTF_8));
        String text = bytes.toString(StandardCharsets.UTF_8);
        assertTrue(good, text);
        return text;
    }

    private static void expect(String text, String line) {
        assertTrue(text.contains(line), line + " is not in\n" + text);
    }

    @Test
    void aResourceManagerIsAskedAndItsTransportIsSaidWhateverTheDefaultFileSystemIs() throws IOException {
        RPC.Server server = server();
        try {
            String place = "127.0.0.1:" + server.getPort();
            String text = report(conf(ADDRESS + "=" + place));
            expect(text, "ok    ResourceManager at " + place + " answers");
            assertTrue(text.matches("(?s).*ok    RPC server \\S*" + place + " is reached by the core: shm.*"), text);
            text = report(conf(ADDRESS + "=" + place, YARN + "=org.apache.hadoop.ipc.ProtobufRpcEngine2"));
            expect(text, "ok    ResourceManager at " + place + " answers");
        } finally {
            server.stop();
        }
    }

    @Test
    void aNameNodeBesideTheDefaultFileSystemIsAsked() throws IOException {
        RPC.Server server = server();
        try (Socket silent = closed()) {
            String place = "127.0.0.1:" + server.getPort();
            expect(report(conf("dfs.namenode.rpc-address=" + place)), "ok    NameNode 1 at " + place + " answers");
            expect(report(conf("dfs.namenode.rpc-address=" + place, "fs.defaultFS=file:///", "verbena.hdfs.auth=none")),
                "ok    NameNode 1 at " + place + " answers");
            String other = "127.0.0.1:" + silent.getLocalPort();
            String text = report(conf("dfs.namenode.rpc-address=" + other));
            expect(text, "warn  NameNode 1 at " + other + " does not answer: java.net.ConnectException: Connection refused; "
                + "look at its log, and whether dfs.namenode.rpc-address names it on this host");
        } finally {
            server.stop();
        }
    }

    @Test
    void aNameNodeWithoutAPortIsOneLineWithTheCure() {
        String text = report(conf("dfs.namenode.rpc-address=nn1"));
        assertTrue(text.matches("(?s).*warn  NameNodes: dfs.namenode.rpc-address: [^\n]*nn1[^\n]*; give HOST:PORT\n.*"), text);
        expect(text, "ok    YARN: "); // the report goes on
    }

    @Test
    void eachOfSeveralResourceManagersIsAskedAndOneHasToAnswer() throws IOException {
        RPC.Server server = server();
        try (Socket silent = closed()) {
            String place = "127.0.0.1:" + server.getPort();
            String other = "127.0.0.1:" + silent.getLocalPort();
            String[] several = {"yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2,rm3",
                ADDRESS + ".rm1=" + other, ADDRESS + ".rm2=" + place};
            String text = report(conf(several));
            expect(text, "ok    ResourceManager rm2 at " + place + " answers");
            expect(text, "ok    ResourceManager rm1 at " + other + " does not answer: java.net.ConnectException: Connection refused"
                + "; one that stands by does not listen");
            expect(text, "warn  ResourceManager rm3: its address is not set; set " + ADDRESS + ".rm3");
            several[3] = ADDRESS + ".rm2=" + other;
            text = report(conf(several));
            expect(text, "warn  ResourceManager rm1 at " + other + " does not answer: ");
            expect(text, "warn  ResourceManager rm2 at " + other + " does not answer: ");
            assertFalse(text.contains("RPC server /" + other), "it was not reached in any way:\n" + text);
        } finally {
            server.stop();
        }
    }

    @Test
    void aResourceManagerThatAcceptsAndSaysNothingIsOneLine() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String place = "127.0.0.1:" + silent.getLocalPort();
            String text = report(conf(ADDRESS + "=" + place, "ipc.client.rpc-timeout.ms=200"));
            expect(text, "warn  ResourceManager at " + place + " does not answer: java.net.SocketTimeoutException: 200 millis");
            expect(text, "; look at its log, and whether " + ADDRESS + " names it on this host");
            assertFalse(text.contains("RPC server /" + place), text);
        }
    }

    @Test
    void aResourceManagersAddressNeedsNoPort() {
        String text = report(conf(ADDRESS + "=no-host.invalid"));
        expect(text, "warn  ResourceManager at no-host.invalid does not answer: this host does not know the name no-host.invalid");
    }

    @Test
    void withoutAResourceManagerInTheFilesNoneIsAsked() {
        String text = report(conf("yarn.resourcemanager.hostname=0.0.0.0"));
        expect(text, "ok    YARN: no " + ADDRESS + " is set, no ResourceManager is asked");
    }
}
