// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class NativeTest {
    @BeforeAll
    static void load() throws VbnException {
        NativeLibrary.load();
    }

    @Test
    void status_codes_have_the_names_of_the_native_library() throws Exception {
        Map<String, Integer> ours = new TreeMap<>();
        for (VbnStatus status : VbnStatus.values()) {
            ours.put(status.nativeName(), status.code());
        }
        Map<String, Integer> cores = new TreeMap<>();
        Matcher code = Pattern.compile("(VBN_ERR_\\w+) = (-\\d+),").matcher(Files.readString(Path.of("../include/vbn/vbn.h")));
        while (code.find()) {
            cores.put(code.group(1), Integer.valueOf(code.group(2)));
        }
        assertEquals(cores, ours);
        assertEquals(VbnStatus.INVALID, VbnStatus.of(-1000));
    }

    @Test
    void stale_and_forged_handles_are_errors_in_every_native() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            long closed;
            try (VbnMemory memory = context.allocate(4096)) {
                closed = Native.memAlloc(context.handle(), 4096, null);
                assertEquals(0, Native.memFree(closed));
                assertEquals(4096, memory.size());
            }
            ByteBuffer page = new Page().bytes;
            for (long handle : new long[] {0, 1, -1, closed, closed + (1L << 32), 0x7fffffff_00000000L, 12345}) {
                assertEquals(0, Native.memAlloc(handle, 4096, null));
                assertEquals(0, Native.memOpen(handle, new byte[] {'/'}));
                assertTrue(Native.memSize(handle) < 0);
                assertNull(Native.memView(handle, 0, 1));
                assertTrue(Native.memRevoke(handle, false) < 0);
                assertTrue(Native.memFree(handle) < 0);
                assertNull(Native.keyExport(handle, 0, 1, false));
                assertTrue(Native.contextClose(handle) < 0);
                assertNull(Native.contextLog(handle));
                assertNull(Native.contextCounters(handle));
                assertNull(Native.contextSetting(handle, new byte[0]));
                assertEquals(0, Native.workerCreate(handle, page, Page.SLOTS, Page.EVENTS, Page.RECEIVE_BYTES));
                assertTrue(Native.workerDestroy(handle) < 0);
                assertNull(Native.workerAddress(handle));
                assertTrue(Native.workerWake(handle) < 0);
                assertTrue(Native.workerHandler(handle, 1, true) < 0);
                assertTrue(Native.poll(handle, 1, 0) < 0);
                assertEquals(0, Native.peerConnect(handle, new byte[8]));
                assertNull(Native.peerExplain(handle, 1));
                assertEquals(0, Native.peerUid(handle, 1));
                assertEquals(0, Native.keyImport(handle, 1, new byte[8]));
                assertEquals(0, Native.keyMap(handle, 1));
                assertEquals(VbnStatus.STALE.code(), Native.errorStatus());
            }
            // A handle of the right table but another kind.
            assertTrue(Native.memFree(context.handle()) < 0);
            assertTrue(new String(Native.errorText(), StandardCharsets.UTF_8).contains("closed"));
        }
    }

    @Test
    void a_worker_refuses_other_threads_and_bad_pages_and_bad_commands() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            ByteBuffer small = ByteBuffer.allocateDirect(4096);
            assertEquals(0, Native.workerCreate(context.handle(), small, Page.SLOTS, Page.EVENTS, Page.RECEIVE_BYTES));
            assertEquals(0, Native.workerCreate(context.handle(), ByteBuffer.allocate(1 << 21), 8, 8, 1 << 17));
            assertEquals(0, Native.workerCreate(context.handle(), null, 8, 8, 1 << 17));
            Page page = new Page();
            long worker =
                Native.workerCreate(context.handle(), page.bytes, Page.SLOTS, Page.EVENTS, Page.RECEIVE_BYTES);
            assertNotEquals(0, worker);
            int[] other = new int[1];
            Thread thread = new Thread(() -> other[0] = Native.poll(worker, 1, 0));
            thread.start();
            thread.join();
            assertEquals(VbnStatus.INVALID.code(), other[0]);
            Operation op = new Operation().set(PageLayout.PAGE_SEND, 99, null);
            assertTrue(page.submit(op, 5));
            assertEquals(1, Native.poll(worker, 16, 0));
            assertEquals(VbnStatus.STALE.code(), page.status(0));
            assertEquals(5, page.token(0));
            op.headerLength = 180;
            op.header = new byte[192];
            assertTrue(page.submit(op, 6));
            page.bytes.putShort(64 + 64 + 2, (short) 60_000); // the second command's header length
            assertEquals(1, Native.poll(worker, 16, 0));
            assertEquals(VbnStatus.INVALID.code(), page.status(0));
            op.headerLength = 0;
            op.set(77, 0, null);
            assertTrue(page.submit(op, 7));
            assertEquals(1, Native.poll(worker, 16, 0));
            assertEquals(VbnStatus.INVALID.code(), page.status(0));
            assertTrue(Native.poll(worker, 0, 0) < 0);
            assertTrue(Native.poll(worker, 1, -1) < 0);
            assertTrue(Native.contextClose(context.handle()) < 0, "a context with a worker cannot be closed");
            assertEquals(0, Native.workerDestroy(worker));
        }
    }

    @Test
    void natives_in_java_and_in_the_c_tables_are_the_same() throws Exception {
        TreeSet<String> declared = new TreeSet<>();
        for (Method method : Native.class.getDeclaredMethods()) {
            if (Modifier.isNative(method.getModifiers())) {
                declared.add(method.getName() + " "
                    + MethodType.methodType(method.getReturnType(), method.getParameterTypes())
                        .toMethodDescriptorString());
            }
        }
        TreeSet<String> tables = new TreeSet<>();
        Pattern entry = Pattern.compile("\\{\"(\\w+)\", \"(\\([^\"]+)\"");
        try (Stream<Path> files = Files.list(Path.of("../jni"))) {
            for (Path file : files.filter(path -> path.toString().endsWith(".c")).toList()) {
                Matcher matcher = entry.matcher(Files.readString(file));
                while (matcher.find()) {
                    tables.add(matcher.group(1) + " " + matcher.group(2));
                }
            }
        }
        assertEquals(declared, tables);
        assertTrue(declared.size() <= 35, "the native surface stays small");
    }

    @Test
    void settings_are_checked_and_can_be_read() throws Exception {
        VbnException unknown = assertThrows(VbnException.class,
            () -> VbnContext.open(new VbnConfig().jobKey(Fixture.jobKey(1)).set("tl.tcp.prot", "1")));
        assertEquals(VbnStatus.SETTING, unknown.kind());
        assertTrue(unknown.getMessage().contains("tl.tcp.port"), unknown.getMessage());
        assertThrows(VbnException.class,
            () -> VbnContext.open(new VbnConfig().jobKey(Fixture.jobKey(1)).set("tl.tcp.port", "lots")));
        assertThrows(VbnException.class, () -> VbnContext.open(new VbnConfig()), "no job key");
        assertThrows(IllegalArgumentException.class, () -> new VbnConfig().jobKey(new byte[31]));
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context(new VbnConfig().jobKey(Fixture.jobKey(1)).set("tl.tcp.port", "4711"));
            assertEquals("4711", context.setting("tl.tcp.port"));
            assertThrows(VbnException.class, () -> context.setting("no.such"));
            assertEquals(50_000, context.settingNumber("progress.spin"));
            assertThrows(VbnException.class, () -> context.settingNumber("no.such"));
            assertThrows(VbnException.class, () -> context.settingNumber("tl.enable"), "a text");
            for (VbnSetting setting : VbnSetting.values()) {
                assertFalse(context.setting(setting.key()).contains("\0"), setting.key());
            }
            assertTrue(context.counters().size() > 5);
        }
    }
}
