// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.junit.jupiter.api.Test;

/** Calls by the core against the same calls by Hadoop's own TCP. */
class CoreCallsTest {
    private static String outcome(Callable<String[]> call) {
        try {
            return String.join("|", call.call());
        } catch (RemoteException e) {
            return e.getClassName() + ": " + e.getMessage().lines().findFirst().orElse("") + " " + e.getErrorCode();
        } catch (Exception e) {
            return e.toString();
        }
    }

    @Test
    void answers_errors_addresses_and_contexts_are_those_of_tcp() throws Exception {
        List<List<String>> all = new ArrayList<>();
        for (boolean core : new boolean[] {false, true}) {
            try (Groups groups = new Groups(core);
                    GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
                if (core) {
                    Groups.connect(groups.conf, client);
                }
                long before = Groups.byCore(groups.conf);
                List<String> seen = new ArrayList<>();
                CallerContext.setCurrent(new CallerContext.Builder("a context").build());
                for (String request : List.of("echo a", "echo ", "who ", "throw no file", "run state", "retry later", "size 100",
                        "size 3000000", "unknown")) {
                    seen.add(outcome(() -> client.getGroupsForUser(request)));
                }
                CallerContext.setCurrent(null);
                all.add(seen);
                assertEquals(core ? 9 : 0, Groups.byCore(groups.conf) - before);
            }
        }
        assertEquals(all.get(0), all.get(1));
        assertTrue(all.get(1).get(2).startsWith("/127.0.0.1|"), all.get(1).get(2));
    }

    @Test
    void many_threads_share_one_connection() throws Exception {
        try (Groups groups = new Groups(true); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            ExecutorService threads = Executors.newFixedThreadPool(8);
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                String mine = "caller " + i;
                all.add(threads.submit(() -> {
                    for (int call = 0; call < 500; call++) {
                        assertArrayEquals(new String[] {mine + call}, client.getGroupsForUser("echo " + mine + call));
                    }
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            threads.shutdown();
            assertTrue(groups.server.getNumOpenConnections() <= 2, "connections: " + groups.server.getNumOpenConnections());
        }
    }

    @Test
    void calls_that_wait_hold_up_no_others_and_answers_may_be_postponed() throws Exception {
        try (Groups groups = new Groups(true, "test.handlers", "2");
                GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            ExecutorService threads = Executors.newFixedThreadPool(3);
            Future<String[]> held = threads.submit(() -> client.getGroupsForUser("hold a"));
            Groups.until("the first call is held", () -> groups.held.get() == 1);
            assertArrayEquals(new String[] {"b"}, client.getGroupsForUser("echo b"));
            Future<String[]> deferred = threads.submit(() -> client.getGroupsForUser("defer c"));
            Groups.until("the call is postponed", () -> groups.deferred != null);
            assertArrayEquals(new String[] {"d"}, client.getGroupsForUser("echo d"));
            groups.deferred.sendResponse();
            assertArrayEquals(new String[] {"c"}, deferred.get());
            Future<String[]> other = threads.submit(() -> client.getGroupsForUser("hold e"));
            Groups.until("both handlers are busy", () -> groups.held.get() == 2);
            Future<String[]> queued = threads.submit(() -> client.getGroupsForUser("echo f"));
            Groups.until("the call is in the queue", () -> groups.server.getCallQueueLen() == 1);
            groups.go.countDown();
            assertArrayEquals(new String[] {"a"}, held.get());
            assertArrayEquals(new String[] {"e"}, other.get());
            assertArrayEquals(new String[] {"f"}, queued.get());
            threads.shutdown();
        }
    }

    @Test
    void a_server_without_the_core_is_called_by_tcp_after_one_question() throws Exception {
        try (Groups groups = new Groups(false)) {
            var conf = Groups.configuration(true);
            long before = Groups.numbers(conf).get("calls.tcp.not_offered");
            try (GetUserMappingsProtocolClientSideTranslatorPB client = Groups.client(conf, groups.server.getPort())) {
                Groups.until("the server is known not to offer the core", () -> {
                    try {
                        client.getGroupsForUser("echo a");
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                    return Groups.numbers(conf).get("calls.tcp.not_offered") > before;
                });
                assertArrayEquals(new String[] {"b"}, client.getGroupsForUser("echo b"));
            }
        }
    }

    @Test
    void the_end_of_a_server_fails_its_calls_and_later_ones_as_by_tcp() throws Exception {
        try (Groups groups = new Groups(true, "ipc.client.connect.max.retries", "0");
                GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            ExecutorService thread = Executors.newSingleThreadExecutor();
            Future<String> held = thread.submit(() -> outcome(() -> client.getGroupsForUser("hold a")));
            Groups.until("the call is held", () -> groups.held.get() == 1);
            groups.server.stop();
            assertTrue(held.get().contains("IOException") || held.get().contains("EOFException"), held.get());
            thread.shutdown();
            // A connection by TCP of the first calls may stand: its end is the next call's failure, as always.
            Groups.until("nobody listens there",
                () -> outcome(() -> client.getGroupsForUser("echo b")).contains("ConnectException"));
        }
    }

    @Test
    void a_wrong_setting_fails_a_client_and_leaves_a_server_with_tcp() throws Exception {
        try (Groups groups = new Groups(true, "verbena.rpc.first.cals", "1")) {
            IOException wrong = assertThrows(IOException.class, groups::client);
            assertTrue(wrong.getMessage().contains("did you mean verbena.rpc.first.calls?"), wrong.getMessage());
            try (GetUserMappingsProtocolClientSideTranslatorPB client =
                    Groups.client(Groups.configuration(false), groups.server.getPort())) {
                assertArrayEquals(new String[] {"a"}, client.getGroupsForUser("echo a"));
            }
        }
    }

    @Test
    void the_configured_queue_orders_calls_and_can_be_changed_while_handlers_wait() throws Exception {
        try (Groups groups = new Groups(true, "ipc.0.callqueue.impl", FairCallQueue.class.getName(), "ipc.0.scheduler.impl",
                DecayRpcScheduler.class.getName()); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            assertArrayEquals(new String[] {"a"}, client.getGroupsForUser("echo a"));
            groups.conf.set("ipc.0.callqueue.impl", java.util.concurrent.LinkedBlockingQueue.class.getName());
            groups.server.refreshCallQueue(groups.conf);
            assertArrayEquals(new String[] {"b"}, client.getGroupsForUser("echo b"));
        }
    }

    @Test
    void a_full_queue_sends_clients_away_when_back_off_is_on() throws Exception {
        try (Groups groups = new Groups(true, "test.handlers", "1", "ipc.server.handler.queue.size", "1",
                "ipc.0.backoff.enable", "true"); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            ExecutorService threads = Executors.newFixedThreadPool(2);
            Future<String[]> held = threads.submit(() -> client.getGroupsForUser("hold a"));
            Groups.until("the only handler is busy", () -> groups.held.get() == 1);
            Future<String[]> queued = threads.submit(() -> client.getGroupsForUser("echo b"));
            Groups.until("the queue is full", () -> groups.server.getCallQueueLen() == 1);
            String sent = outcome(() -> client.getGroupsForUser("echo c"));
            assertTrue(sent.startsWith(RetriableException.class.getName()), sent);
            groups.go.countDown();
            threads.shutdown();
            // Hadoop ends the connection with that answer: calls on it fail, and are repeated by who repeats calls.
            outcome(held::get);
            outcome(queued::get);
            Groups.until("the queue has space again", () -> outcome(() -> client.getGroupsForUser("echo d")).equals("d"));
        }
    }
}
