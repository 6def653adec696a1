// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.greeting.Greeter;
import org.verbena.hadoop.hdfs.settings.HdfsConf;

/** What comes from the network or from files, also mutated. */
class DecoderTest {
    private static final int TRIES = 100;

    private static final byte[] TOKEN = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    @Test
    void mutated_hellos_are_refused_or_carry_a_token() throws Exception {
        Hello client = new Hello(TOKEN, 40_000, 50_010);
        byte[] good = client.encode();
        assertEquals(client, Hello.decode(ByteBuffer.wrap(good)));
        Random random = new Random(2);
        for (int i = 0; i < 100_000; i++) {
            byte[] bytes = Arrays.copyOf(good, random.nextInt(2 * good.length));
            for (int n = random.nextInt(3); n > 0 && bytes.length > 0; n--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                assertArrayEquals(bytes, Hello.decode(ByteBuffer.wrap(bytes)).encode());
            } catch (IOException e) {
                assertTrue(e.getMessage().contains("hello"), e.getMessage());
            }
        }
    }

    @Test
    void a_hello_of_another_version_is_said_to_be_one() {
        byte[] other = new Hello(TOKEN, 1, 2).encode();
        other[0] = 9;
        for (int length : new int[] {1, other.length, other.length + 8}) {
            String text = assertThrows(IOException.class, () -> Hello.decode(ByteBuffer.wrap(Arrays.copyOf(other, length))))
                .getMessage();
            assertTrue(text.contains("version 9") && text.contains("use the same jar"), text);
        }
    }

    @Test
    void a_stream_goes_to_the_data_node_that_its_hello_names() {
        DataPorts ports = new DataPorts();
        List<Integer> taken = new ArrayList<>();
        DataPorts.Door first = (stream, hello) -> taken.add(1);
        DataPorts.Door second = (stream, hello) -> taken.add(2);
        ports.open(9866, first);
        ports.open(9867, second);
        assertTrue(ports.accept(null, ByteBuffer.wrap(new Hello(TOKEN, 1, 9866).encode())));
        assertTrue(ports.accept(null, ByteBuffer.wrap(new Hello(TOKEN, 1, 9867).encode())));
        assertFalse(ports.accept(null, ByteBuffer.wrap(new Hello(TOKEN, 1, 9868).encode())));
        assertFalse(ports.accept(null, ByteBuffer.wrap(new byte[3])));
        ports.open(9866, second); // the next one of this process at the same port
        ports.close(9866, first);
        assertTrue(ports.accept(null, ByteBuffer.wrap(new Hello(TOKEN, 1, 9866).encode())));
        ports.close(9866, second);
        assertFalse(ports.accept(null, ByteBuffer.wrap(new Hello(TOKEN, 1, 9866).encode())));
        assertEquals(List.of(1, 2, 2), taken);
    }

    @Test
    void who_listens_at_the_port_instead_is_no_data_node() throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread thread = new Thread(() -> {
                try (Socket client = other.accept()) {
                    client.getOutputStream().write("SSH-2.0-OpenSSH_9.2\r\n".getBytes(StandardCharsets.US_ASCII));
                } catch (IOException e) {
                    Thread.currentThread().interrupt();
                }
            });
            thread.start();
            InetSocketAddress there = new InetSocketAddress(InetAddress.getLoopbackAddress(), other.getLocalPort());
            String text = assertThrows(IOException.class, () -> GreetingClient.ask(there, 60_000, () -> { })).getMessage();
            assertTrue(text.contains("another program"), text);
        }
    }

    /** A port that the kernel gives to nobody by itself; another process may still have it: the next one then. */
    private static GreetingServer somewhere(InetSocketAddress[] at, Greeter<InetAddress> greeter) throws IOException {
        Random random = new Random();
        for (int i = 0; ; i++) {
            at[0] = new InetSocketAddress(InetAddress.getLoopbackAddress(), 20_000 + random.nextInt(12_000));
            try {
                return new GreetingServer(at[0], greeter);
            } catch (IOException e) {
                if (i == TRIES) {
                    throw e;
                }
            }
        }
    }

    @Test
    void a_greeting_server_answers_everybody_and_ends() throws Exception {
        InetSocketAddress[] place = new InetSocketAddress[1];
        Greeter<InetAddress> greeter = new Greeter<>(Hello.MESSAGES, Hello.SERVICE, () -> new byte[] {7, 8});
        GreetingServer server = somewhere(place, greeter);
        InetSocketAddress at = place[0];
        try {
            for (int i = 0; i < 20; i++) {
                assertArrayEquals(new byte[] {7, 8}, GreetingClient.ask(at, 60_000, () -> { }).engine());
            }
            InetAddress from = InetAddress.getByName("127.0.0.9");
            try (Socket client = new Socket()) {
                client.bind(new InetSocketAddress(from, 0));
                client.connect(at);
                byte[] all = client.getInputStream().readAllBytes();
                assertEquals(from, greeter.claim(ByteBuffer.wrap(all, all.length - 2 - TOKEN.length, TOKEN.length)));
            }
            String text = assertThrows(IOException.class,
                () -> new GreetingServer(at, greeter).close()).getMessage();
            assertTrue(text.contains("verbena.hdfs.port.offset"), text);
        } finally {
            server.close();
        }
        assertThrows(IOException.class, () -> GreetingClient.ask(at, 60_000, () -> { }));
    }

    private static HdfsConf conf(String... keysAndValues) {
        Configuration conf = new Configuration(false);
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.set(keysAndValues[i], keysAndValues[i + 1]);
        }
        return HdfsConf.of(conf);
    }

    @Test
    void settings_are_checked_and_those_of_the_shuffle_are_not_ours() {
        assertEquals(conf(), conf("verbena.shuffle.memory", "1g", "verbena.hbase.enabled", "true", "fs.defaultFS", "hdfs://x"));
        assertEquals("tcp", conf("verbena.core.tl.enable", "tcp").core().get("tl.enable"));
        assertEquals("/k-" + System.getProperty("user.name"), conf("verbena.hdfs.key.file", "/k-${user.name}").keyFile());
        String text = assertThrows(IllegalArgumentException.class, () -> conf("verbena.hdfs.port.ofset", "1")).getMessage();
        assertTrue(text.contains("did you mean verbena.hdfs.port.offset?"), text);
        assertThrows(IllegalArgumentException.class, () -> conf("verbena.hdfs.auth", "maybe"));
    }

    @Test
    void keys_that_cannot_be_used_are_named_with_the_cure(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("key");
        HdfsConf with = conf("verbena.hdfs.key.file", file.toString());
        assertTrue(assertThrows(IOException.class, conf()::coreConfig).getMessage().contains("openssl rand -hex 32"));
        assertTrue(assertThrows(IOException.class, with::coreConfig).getMessage().contains("No such file or directory"));
        Files.writeString(file, "0123456789abcdefABCDEF0123456789".repeat(2) + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        with.coreConfig();
    }
}
