// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class TwoProcessTest {
    @TempDir
    Path temporary;

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void two_jvms_exchange_messages_and_memory(String transports) throws Exception {
        try (Child child = new Child(List.of(), "serve", transports, "1"); Fixture fixture = new Fixture();
                VbnEngine engine = fixture.context(transports).startEngine("client")) {
            byte[] blob = HexFormat.of().parseHex(child.expect("key"));
            VbnPeer peer = engine.connect(HexFormat.of().parseHex(child.expect("address")), null);
            for (int size : new int[] {10, 1 << 20}) {
                CompletableFuture<ByteBuffer> reply = new CompletableFuture<>();
                engine.onMessage(Fixture.REPLY, message -> {
                    ByteBuffer got = ByteBuffer.allocateDirect(size);
                    if (message.remote() == null) {
                        reply.complete(got.put(message.data()).flip());
                    } else {
                        engine.pull(message.remote(), got, (error, length) -> reply.complete(got));
                    }
                });
                ByteBuffer data = Fixture.pattern(size, 3);
                engine.send(peer, Fixture.ECHO, null, new ByteBuffer[] {data}, null);
                assertEquals(data, Fixture.get(reply));
            }
            try (VbnKey key = engine.importKey(peer, blob)) {
                ByteBuffer all = ByteBuffer.allocateDirect(1 << 20);
                Fixture.Wait get = new Fixture.Wait();
                engine.get(key, 0, all, get);
                assertEquals(1 << 20, get.get());
                assertEquals(Fixture.pattern(1 << 20, 1), all);
                assertEquals(!transports.equals("tcp"), key.mapped() != null, peer.explain());
            }
            peer.close();
            List<String> rest = child.finish();
            assertTrue(rest.contains("served") && rest.contains("exit 0"), rest.toString());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void a_killed_jvm_is_a_lost_peer_and_its_mapping_stays_readable(String transports) throws Exception {
        try (Child child = new Child(List.of(), "serve", transports, "1"); Fixture fixture = new Fixture();
                VbnEngine engine = fixture.context(transports).startEngine("client")) {
            byte[] blob = HexFormat.of().parseHex(child.expect("key"));
            CompletableFuture<VbnException> lost = new CompletableFuture<>();
            VbnPeer peer = engine.connect(HexFormat.of().parseHex(child.expect("address")),
                (who, cause) -> lost.complete(cause));
            VbnKey key = engine.importKey(peer, blob);
            Fixture.Wait get = new Fixture.Wait();
            engine.get(key, 0, ByteBuffer.allocateDirect(10), get);
            get.get();
            ByteBuffer view = key.mapped();
            Fixture.Wait pending = new Fixture.Wait();
            engine.send(peer, 3, null, new ByteBuffer[] {Fixture.pattern(100_000, 0)}, pending);
            child.expect("kept");
            child.kill();
            assertEquals(VbnStatus.PEER_LOST, pending.failure().kind());
            assertEquals(VbnStatus.PEER_LOST, Fixture.get(lost).kind());
            assertTrue(peer.isLost());
            Fixture.Wait late = new Fixture.Wait();
            engine.send(peer, 1, null, null, late);
            assertEquals(VbnStatus.PEER_LOST, late.failure().kind());
            if (view != null) {
                assertEquals(Fixture.pattern(1 << 20, 1), view);
            }
            key.close();
            peer.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void another_job_key_is_refused_with_a_text_that_says_so(String transports) throws Exception {
        try (Child child = new Child(List.of(), "serve", transports, "2"); Fixture fixture = new Fixture();
                VbnEngine engine = fixture.context(transports).startEngine("client")) {
            CompletableFuture<VbnException> lost = new CompletableFuture<>();
            byte[] address = HexFormat.of().parseHex(child.expect("address"));
            Fixture.Wait send = new Fixture.Wait();
            VbnPeer peer = engine.call(worker -> { // in one go, so that the message waits before the peer is lost
                VbnPeer connecting = engine.connect(address, (who, cause) -> lost.complete(cause));
                engine.send(connecting, 1, null, new ByteBuffer[] {Fixture.pattern(100_000, 0)}, send);
                return connecting;
            });
            assertEquals(VbnStatus.AUTH, Fixture.get(lost).kind(), Fixture.get(lost).getMessage());
            assertEquals(VbnStatus.AUTH, send.failure().kind());
            assertTrue(Fixture.get(lost).getMessage().contains("key"), Fixture.get(lost).getMessage());
            peer.close();
        }
    }

    @Test
    void a_second_jvm_reads_named_memory_and_learns_that_it_was_closed() throws Exception {
        Path directory = Files.createDirectory(temporary.resolve("private"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        Path file = directory.resolve("memory");
        try (Fixture fixture = new Fixture()) {
            VbnMemory memory = fixture.context("self").allocateFile(8192, file);
            memory.buffer().put("hello".getBytes(StandardCharsets.UTF_8));
            try (Child child = new Child(List.of(), "open", file.toString())) {
                assertEquals("hello true", child.expect("content"));
            }
            Path copy = directory.resolve("hard-link");
            Files.createLink(copy, file);
            memory.close();
            assertTrue(Files.notExists(file));
            try (Child child = new Child(List.of(), "open", copy.toString())) {
                assertEquals("VBN_ERR_STALE", child.expect("content"));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void the_checked_jni_of_the_jvm_has_nothing_to_say(String transports) throws Exception {
        try (Child child = new Child(List.of("-Xcheck:jni"), "talk", transports)) {
            assertEquals("0", child.expect("reply"));
            assertEquals("100", child.expect("reply"));
            assertEquals("100000", child.expect("reply"));
            assertEquals("5000003", child.expect("reply"));
            List<String> rest = child.finish();
            assertTrue(rest.contains("refused VBN_ERR_SETTING") && rest.contains("talked") && rest.contains("exit 0"),
                rest.toString());
            assertTrue(rest.stream().noneMatch(line -> line.contains("in native method") || line.contains("JNI")),
                rest.toString());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"jar", "path"})
    void two_class_loaders_have_a_core_each_and_both_work(String from) throws Exception {
        Path library = Path.of("target/native-resources/META-INF/native/linux-" + NativeLibrary.arch(
            System.getProperty("os.arch")), "libvbnjni.so").toAbsolutePath();
        List<String> options = new ArrayList<>(List.of("-Xcheck:jni", "-Djava.io.tmpdir=" + temporary));
        if (from.equals("path")) {
            options.add("-Dverbena.native.path=" + library);
        }
        try (Child child = new Child(options, "loaders")) {
            for (String transports : new String[] {"self,shm", "tcp"}) {
                assertEquals("5000003 100000 5000003 100000", child.expect(transports), "by " + transports);
            }
            String said = child.expect("said");
            assertTrue(said.contains("another class loader") && said.contains("URLClassLoader"), said);
            assertEquals("1 class loader told, 0 files left", child.expect("result"));
        }
    }

    @Test
    void the_unpacked_library_does_not_stay_behind() throws Exception {
        try (Child child = new Child(List.of("-Djava.io.tmpdir=" + temporary), "load")) {
            assertEquals("loaded, left 0", child.expect("result"));
        }
    }

    @Test
    void a_processor_that_the_jar_has_no_library_for_is_named_with_the_cure() throws Exception {
        try (Child child = new Child(List.of("-Dos.arch=riscv64"), "load")) {
            String result = child.expect("result");
            assertTrue(result.contains("no native library for this JVM's processor, riscv64"), result);
            assertTrue(result.contains("build the jar on such a host") && result.contains("verbena.native.path"), result);
        }
    }

    @Test
    void a_library_for_another_processor_is_named_as_such() throws Exception {
        Path own = Path.of("target/native-resources/META-INF/native/linux-" + NativeLibrary.arch(
            System.getProperty("os.arch")), "libvbnjni.so");
        byte[] library = Files.readAllBytes(own);
        library[18] = (byte) (library[18] == (byte) 183 ? 62 : 183); // e_machine: aarch64, or x86_64 there
        String result = loadFrom(library);
        assertTrue(result.contains("is for ") && result.contains("this JVM runs on"), result);
        assertArrayEquals(new byte[] {0x7f, 'E', 'L', 'F'}, java.util.Arrays.copyOf(library, 4));
        assertTrue(loadFrom("not a library at all".getBytes(StandardCharsets.UTF_8)).contains("no ELF header"));
    }

    private String loadFrom(byte[] library) throws Exception {
        Path file = Files.write(temporary.resolve("lib.so"), library, StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING);
        try (Child child = new Child(List.of("-Dverbena.native.path=" + file), "load")) {
            return child.expect("result");
        }
    }

    @Test
    void a_directory_without_space_or_rights_is_named_with_the_cure() throws Exception {
        try (Child child = new Child(List.of("-Dverbena.native.tmp=" + temporary.resolve("missing")), "load")) {
            String result = child.expect("result");
            assertTrue(result.contains("verbena.native.tmp"), result);
        }
    }

    @Test
    void a_noexec_directory_is_named_with_the_cure() throws Exception {
        Path mount = Files.createDirectory(temporary.resolve("noexec"));
        Process process = new ProcessBuilder("mount", "-t", "tmpfs", "-o", "noexec,size=16m", "tmpfs", mount.toString())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectErrorStream(true).start();
        org.junit.jupiter.api.Assumptions.assumeTrue(process.waitFor() == 0, "needs the right to mount a tmpfs");
        try (Child child = new Child(List.of("-Dverbena.native.tmp=" + mount), "load")) {
            String result = child.expect("result");
            assertTrue(result.contains("noexec") && result.contains("verbena.native.tmp"), result);
        } finally {
            new ProcessBuilder("umount", "-l", mount.toString()).start().waitFor();
        }
    }
}
