// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.junit.jupiter.api.Test;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;

/** What a caller sees beside answers: numbers of calls, states, interrupts, limits of time, idle connections. */
class CallerTest {
    @Test
    void a_repeated_call_has_the_same_client_and_number_by_either_way() throws Exception {
        try (Groups groups = new Groups(true); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            Client.setCallIdAndRetryCount(7_000_001, 2, null);
            String[] byCore = client.getGroupsForUser("id");
            assertArrayEquals(new String[] {byCore[0], "7000001", "2"}, byCore);
            CoreNode.of(RpcConf.of(groups.conf)).server(new InetSocketAddress("127.0.0.1", groups.server.getPort()))
                .down("as the test wants");
            long before = Groups.byCore(groups.conf);
            try {
                Client.setCallIdAndRetryCountUnprotected(7_000_001, 3, null);
                assertArrayEquals(new String[] {byCore[0], "7000001", "3"}, client.getGroupsForUser("id"));
            } finally {
                Client.setCallIdAndRetryCountUnprotected(null, 0, null);
            }
            assertEquals(before, Groups.byCore(groups.conf));
        }
    }

    /** Sends a call whose answer gets lost with the connection, and repeats it by TCP. */
    private static String[] repeated(Groups groups, GetUserMappingsProtocolClientSideTranslatorPB client, int number,
            String request) throws Exception {
        Groups.connect(groups.conf, client);
        AtomicReference<IOException> lost = new AtomicReference<>();
        Thread first = new Thread(() -> {
            Client.setCallIdAndRetryCount(number, 0, null);
            lost.set(assertThrows(IOException.class, () -> client.getGroupsForUser(request)));
        });
        first.start();
        Groups.until("the call has run", () -> groups.deferred != null);
        CoreNode.of(RpcConf.of(groups.conf)).server(new InetSocketAddress("127.0.0.1", groups.server.getPort()))
            .down("as the test wants");
        first.join();
        assertTrue(lost.get() instanceof EOFException, "it ended with the connection, as by TCP: " + lost.get());
        try {
            Client.setCallIdAndRetryCount(number, 1, null);
            return client.getGroupsForUser(request);
        } finally {
            Client.setCallIdAndRetryCountUnprotected(null, 0, null);
        }
    }

    @Test
    void a_call_that_was_run_and_lost_its_answer_has_one_effect_when_it_is_repeated_by_tcp() throws Exception {
        try (Groups groups = new Groups(true); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            assertArrayEquals(new String[] {"a1"}, repeated(groups, client, 9_000_001, "once a"));
            assertEquals(1, groups.effects.get());
        }
    }

    @Test
    void a_call_that_failed_and_lost_its_answer_runs_again_when_it_is_repeated() throws Exception {
        try (Groups groups = new Groups(true); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            assertArrayEquals(new String[] {"a1"}, repeated(groups, client, 9_000_002, "again a"));
            assertEquals(1, groups.effects.get());
        }
    }

    @Test
    void calls_of_hadoops_retrying_proxies_go_by_the_core() throws Exception {
        try (Groups groups = new Groups(true); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            long before = Groups.byCore(groups.conf);
            try {
                Client.setCallIdAndRetryCount(8_000_001, 1, new Object()); // with what they wake for asynchronous callers
                String[] id = client.getGroupsForUser("id");
                assertArrayEquals(new String[] {id[0], "8000001", "1"}, id);
            } finally {
                Client.setCallIdAndRetryCountUnprotected(null, 0, null);
            }
            assertEquals(1, Groups.byCore(groups.conf) - before);
        }
    }

    /** A server's state, and what a client keeps of it, slowly. */
    private static final class State implements AlignmentContext {
        final AtomicLong seen = new AtomicLong();

        @Override
        public void updateResponseState(RpcResponseHeaderProto.Builder header) {
            header.setStateId(42);
        }

        @Override
        public void receiveResponseState(RpcResponseHeaderProto header) {
            for (int i = 0; i < 1000; i++) {
                Thread.yield();
            }
            seen.set(header.getStateId());
        }

        @Override
        public void updateRequestState(RpcRequestHeaderProto.Builder header) {
            header.setStateId(seen.get());
        }

        @Override
        public long receiveRequestState(RpcRequestHeaderProto header, long threshold) {
            return header.getStateId();
        }

        @Override
        public long getLastSeenStateId() {
            return seen.get();
        }

        @Override
        public boolean isCoordinatedCall(String protocol, String method) {
            return false;
        }
    }

    @Test
    void the_state_of_an_answer_is_stored_before_the_caller_goes_on_also_with_an_error() throws Exception {
        try (Groups groups = new Groups(true)) {
            groups.server.setAlignmentContext(new State());
            for (String request : new String[] {"echo a", "throw b"}) {
                State state = new State();
                try (var client = new GetUserMappingsProtocolClientSideTranslatorPB(RPC.getProtocolProxy(
                        GetUserMappingsProtocolPB.class, 1, new InetSocketAddress("127.0.0.1", groups.server.getPort()),
                        UserGroupInformation.getCurrentUser(), groups.conf, NetUtils.getDefaultSocketFactory(groups.conf), 0, null,
                        null, state).getProxy())) {
                    Groups.connect(groups.conf, client);
                    state.seen.set(0);
                    try {
                        client.getGroupsForUser(request);
                    } catch (RemoteException e) {
                        assertEquals("throw b", request);
                    }
                    assertEquals(42, state.seen.get());
                }
            }
        }
    }

    @Test
    void an_interrupt_ends_a_wait_and_not_the_connection() throws Exception {
        try (Groups groups = new Groups(true, "ipc.client.connection.maxidletime", "100");
                GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            AtomicReference<Throwable> end = new AtomicReference<>();
            Thread caller = new Thread(() -> end.set(assertThrows(IOException.class, () -> client.getGroupsForUser("hold a"))));
            caller.start();
            Groups.until("the call is held", () -> groups.held.get() == 1);
            caller.interrupt();
            caller.join();
            assertTrue(end.get() instanceof InterruptedIOException, String.valueOf(end.get()));
            assertArrayEquals(new String[] {"b"}, client.getGroupsForUser("echo b"));
            groups.go.countDown();
            Groups.until("nothing waits in the connection, which ends idle", () -> groups.server.getNumOpenConnections() == 0);
            assertArrayEquals(new String[] {"c"}, client.getGroupsForUser("echo c"));
        }
    }

    @Test
    void the_limit_of_time_holds_and_pings_keep_a_longer_call_alive() throws Exception {
        try (Groups groups = new Groups(true, "ipc.client.rpc-timeout.ms", "300", "ipc.ping.interval", "100");
                GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            assertThrows(SocketTimeoutException.class, () -> client.getGroupsForUser("hold a"));
        }
        try (Groups groups = new Groups(true, "ipc.ping.interval", "50");
                GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            long sent = Groups.numbers(groups.conf).get("stream.sent_bytes");
            AtomicReference<String[]> answer = new AtomicReference<>();
            Thread caller = new Thread(() -> {
                try {
                    answer.set(client.getGroupsForUser("hold a"));
                } catch (IOException e) {
                    answer.set(new String[] {e.toString()});
                }
            });
            caller.start();
            Groups.until("the call is held", () -> groups.held.get() == 1);
            Groups.until("three pings", () -> Groups.numbers(groups.conf).get("stream.sent_bytes") - sent > 200);
            groups.go.countDown();
            caller.join();
            assertArrayEquals(new String[] {"a"}, answer.get());
        }
    }

    @Test
    void asynchronous_calls_go_by_tcp() throws Exception {
        try (Groups groups = new Groups(true); GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            long before = Groups.numbers(groups.conf).get("calls.tcp.asynchronous");
            Client.setAsynchronousMode(true);
            try {
                assertThrows(NullPointerException.class, () -> client.getGroupsForUser("echo a")); // the translator wants an answer
                assertTrue(ProtobufRpcEngine2.getAsyncReturnMessage().get(-1, null).toString().contains("\"a\""));
            } finally {
                Client.setAsynchronousMode(false);
            }
            assertEquals(before + 1, Groups.numbers(groups.conf).get("calls.tcp.asynchronous"));
        }
    }
}
