// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.plugin.Finding;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.hadoop.lustre.LustreCheck;
import org.verbena.memcached.ServerProcess;

/** Each line that the doctor has for the burst buffer. */
class BufferCheckTest {
    private static final int CHUNK = 512 << 10;
    private static final String PLAIN = ";carrier=sockets" + ServerProcess.PATIENT;

    @TempDir
    Path folder;
    private Place place;

    @BeforeEach
    void make() throws IOException {
        place = new Place(folder);
    }

    private List<Finding> check(String servers, Fault fault, Path local) {
        HostReport report = new HostReport();
        BufferCheck.run(new BufferConf(servers, fault, local, CHUNK, Place.LEASE_MS), place.root, report);
        return report.findings();
    }

    private Finding only(String servers) {
        List<Finding> found = check(servers, Fault.ASYNC, place.local);
        assertEquals(1, found.size(), found::toString);
        return found.get(0);
    }

    private static void expect(Finding found, Level level, String pattern) {
        assertEquals(level, found.level(), found::toString);
        assertTrue(found.text().matches("burst buffer: " + pattern), found::toString);
    }

    @Test
    void a_server_that_takes_the_chunks_of_a_writer_is_well_and_keeps_none() throws Exception {
        try (Memcached server = Memcached.start(folder, "-m", "64")) {
            expect(only(server.address() + PLAIN), Level.OK, server.address() + ".*");
            assertEquals(0, server.pinned());
        }
    }

    @Test
    void a_server_that_is_down_is_named_and_the_next_one_is_looked_at() throws Exception {
        try (Memcached server = Memcached.start(folder, "-m", "64"); Socket silent = new Socket()) {
            silent.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)); // nobody else gets the port, or listens
            String down = "127.0.0.1:" + silent.getLocalPort();
            List<Finding> found = check(down + "," + server.address() + PLAIN, Fault.ASYNC, place.local);
            assertEquals(2, found.size(), found::toString);
            expect(found.get(0), Level.BAD, down + ".*; start verbena-memcached there, or correct "
                + "verbena.lustre.buffer.servers on all hosts; chunks of this server go to the shared directory until it is right");
            expect(found.get(1), Level.OK, server.address() + ".*");
        }
    }

    private Path key(String name, String digits) throws IOException {
        Path file = Files.writeString(folder.resolve(name), digits.repeat(4));
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    @Test
    void a_wrong_key_and_a_missing_one_are_said() throws Exception {
        Path right = key("right", "0123456789abcdef");
        Path wrong = key("wrong", "fedcba9876543210");
        try (Memcached server = Memcached.start(folder, "-m", "64", "-o", "verbena_key=" + right)) {
            String messages = server.address() + ";carrier=messages;key=";
            expect(only(messages + right + ServerProcess.PATIENT), Level.OK, server.address() + ".*");
            expect(only(messages + wrong + ";timeout=60000"), Level.BAD,
                ".*key.*; chunks of this server go to the shared directory .*");
            expect(only(messages + folder.resolve("none")), Level.BAD, ".*" + folder.resolve("none") + ".*");
        }
    }

    @Test
    void a_server_of_stock_memcached_is_refused() throws Exception {
        try (Memcached stock = Memcached.stock(folder)) {
            expect(only(stock.address() + PLAIN), Level.BAD, ".*the server has no pinned items.*use verbena-memcached; .*");
        }
    }

    @Test
    void a_server_with_too_little_memory_is_said_with_the_chunks_that_it_takes() throws Exception {
        try (Memcached small = Memcached.start(folder, "-m", "16", "-o", "verbena_pinned=10")) {
            expect(only(small.address() + PLAIN), Level.BAD, small.address() + ": .*raise -o verbena_pinned or -m of the server.*: "
                + "it has room for [1-7] of the 8 chunks that a writer has on their way; .*");
            assertEquals(0, small.pinned());
        }
    }

    @Test
    void pins_that_files_have_used_up_are_said_beside_the_files_that_wait() throws Exception {
        try (Memcached small = Memcached.start(folder, "-m", "16", "-o", "verbena_pinned=10")) {
            try (Buffer writer = place.process(small.address(), Fault.ASYNC, Steps.NONE)) {
                place.write(writer, "file", Place.bytes(1, 4 << 20));
                int before = small.pinned();
                List<Finding> found = check(small.address() + PLAIN, Fault.ASYNC, place.local);
                assertEquals(2, found.size(), found::toString);
                expect(found.get(0), Level.BAD, small.address() + ": pinned items have used up their share: .*");
                expect(found.get(1), Level.OK, "1 files wait for a flusher .*");
                assertEquals(before, small.pinned());
            }
            place.flushAll(small.address(), Fault.ASYNC);
        }
    }

    @Test
    void files_that_nobody_flushes_are_said_with_the_time() throws Exception {
        try (Memcached server = Memcached.start(folder, "-m", "64")) {
            try (Buffer writer = place.process(server.address(), Fault.ASYNC, Steps.NONE)) {
                place.write(writer, "file", Place.bytes(1, 2 * Place.CHUNK));
            }
            List<Finding> found = check(server.address() + PLAIN, Fault.ASYNC, place.local);
            expect(found.get(1), Level.OK, "1 files wait for a flusher \\(LustreFlusher\\)");
            Path closed = new Records(place.root).closed(Records.inodeOf(place.root.resolve("file")));
            Files.setLastModifiedTime(closed, FileTime.from(Instant.now().minus(Duration.ofHours(2))));
            found = check(server.address() + PLAIN, Fault.ASYNC, place.local);
            expect(found.get(1), Level.WARN, "1 files wait for a flusher .*, one of them for \\d+ min: look for a flusher on .*");
            place.flushAll(server.address(), Fault.ASYNC);
        }
    }

    @Test
    void files_that_wait_where_no_servers_are_known_are_said() throws Exception {
        Files.createFile(Files.createDirectory(place.root.resolve(Records.FOLDER)).resolve("7.data"));
        expect(only(""), Level.BAD, "1 files wait for a flusher .* this host knows no servers: "
            + "set verbena.lustre.buffer.servers .*");
    }

    @Test
    void copies_of_this_host_need_a_folder() throws Exception {
        try (Memcached server = Memcached.start(folder, "-m", "64")) {
            List<Finding> found = check(server.address() + PLAIN, Fault.ASYNC_LOCAL, place.local.resolve("a/b"));
            expect(found.get(1), Level.OK, "copies of this host lie in " + place.local.resolve("a/b"));
            Path file = Files.createFile(folder.resolve("plain"));
            found = check(server.address() + PLAIN, Fault.SYNC, file.resolve("b"));
            expect(found.get(1), Level.BAD, ".*cannot write: make it with mode 1777, or set verbena.lustre.buffer.local .*");
        }
    }

    @Test
    void a_shared_directory_that_is_away_is_said_and_the_servers_are_looked_at() throws Exception {
        try (Memcached server = Memcached.start(folder, "-m", "64")) {
            Configuration conf = new Configuration(false);
            conf.set("fs.defaultFS", "lustre:///");
            conf.set("verbena.lustre.root", place.root.resolve("away").toString());
            conf.set("verbena.lustre.buffer.servers", server.address() + PLAIN);
            conf.set("verbena.lustre.buffer.fault", "async");
            HostReport report = new HostReport();
            LustreCheck.run(conf, report);
            String all = report.findings().toString();
            assertTrue(all.contains("lustre: the root " + place.root.resolve("away") + " is not a folder: mount the shared"), all);
            expect(report.findings().get(report.findings().size() - 1), Level.OK, server.address() + ".*");
        }
        try (Stream<Path> left = Files.list(place.root)) {
            assertEquals(0, left.count());
        }
    }
}
