// SPDX-License-Identifier: Apache-2.0
// A server and its clients in this process, over a protocol of Hadoop's whose request is a string and whose answer is strings.
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.thirdparty.protobuf.BlockingService;
import org.apache.hadoop.tools.GetUserMappingsProtocol;
import org.apache.hadoop.tools.proto.GetUserMappingsProtocolProtos.GetUserMappingsProtocolService;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolServerSideTranslatorPB;
import org.verbena.hadoop.rpc.VerbenaRpcEngine;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;

/** Methods by the first word of the request. */
final class Groups implements GetUserMappingsProtocol, AutoCloseable {
    private static final long PATIENCE_SECONDS = 60;

    final Configuration conf;
    final RPC.Server server;
    final AtomicInteger runs = new AtomicInteger();
    final CountDownLatch go = new CountDownLatch(1);
    /** Calls that have arrived at "hold". */
    final AtomicInteger held = new AtomicInteger();
    final AtomicInteger effects = new AtomicInteger();
    private final RetryCache cache = new RetryCache("test", 0.01, TimeUnit.MINUTES.toNanos(10));
    /** The last call at "defer", or the first run of one at "once" or "again", which fails at "again". */
    volatile Server.Call deferred;

    /** core: our engine, else Hadoop's; settings come in pairs of names and values. */
    Groups(boolean core, String... settings) throws IOException {
        this(core, null, settings);
    }

    Groups(boolean core, SecretManager<?> secrets, String... settings) throws IOException {
        conf = configuration(core, settings);
        server = serve(conf, this, 0, secrets);
    }

    static Configuration configuration(boolean core, String... settings) {
        Configuration conf = new Configuration();
        conf.set("rpc.engine." + GetUserMappingsProtocolPB.class.getName(), VerbenaRpcEngine.class.getName());
        conf.setBoolean("verbena.rpc.enabled", core);
        conf.set("verbena.rpc.auth", "none");
        conf.set("verbena.rpc.first.calls", "1");
        conf.set("verbena.core.proto.cost_file", "none");
        for (int i = 0; i < settings.length; i += 2) {
            conf.set(settings[i], settings[i + 1]);
        }
        return conf;
    }

    static RPC.Server serve(Configuration conf, GetUserMappingsProtocol implementation, int port, SecretManager<?> secrets)
            throws IOException {
        BlockingService service = GetUserMappingsProtocolService
            .newReflectiveBlockingService(new GetUserMappingsProtocolServerSideTranslatorPB(implementation));
        RPC.Server made = new RPC.Builder(conf).setProtocol(GetUserMappingsProtocolPB.class).setInstance(service)
            .setBindAddress("127.0.0.1").setPort(port).setNumHandlers(conf.getInt("test.handlers", 3))
            .setSecretManager(cast(secrets)).build();
        made.start();
        return made;
    }

    @SuppressWarnings("unchecked")
    private static SecretManager<? extends org.apache.hadoop.security.token.TokenIdentifier> cast(SecretManager<?> secrets) {
        return (SecretManager<? extends org.apache.hadoop.security.token.TokenIdentifier>) secrets;
    }

    /** A client's end. */
    static GetUserMappingsProtocolClientSideTranslatorPB client(Configuration conf, int port) throws IOException {
        return client(conf, port, UserGroupInformation.getCurrentUser());
    }

    static GetUserMappingsProtocolClientSideTranslatorPB client(Configuration conf, int port, UserGroupInformation user)
            throws IOException {
        return new GetUserMappingsProtocolClientSideTranslatorPB(RPC.getProtocolProxy(GetUserMappingsProtocolPB.class,
            RPC.getProtocolVersion(GetUserMappingsProtocolPB.class), new InetSocketAddress("127.0.0.1", port), user, conf,
            org.apache.hadoop.net.NetUtils.getDefaultSocketFactory(conf), Client.getRpcTimeout(conf), null).getProxy());
    }

    GetUserMappingsProtocolClientSideTranslatorPB client() throws IOException {
        return client(conf, server.getPort());
    }

    static Map<String, Long> numbers(Configuration conf) {
        return CoreNode.of(RpcConf.of(conf)).numbers();
    }

    static long byCore(Configuration conf) {
        return numbers(conf).get("calls.core");
    }

    /** Calls until calls go by the core. */
    static void connect(Configuration conf, GetUserMappingsProtocolClientSideTranslatorPB client) {
        long before = byCore(conf);
        until("a call by the core: " + numbers(conf), () -> {
            try {
                client.getGroupsForUser("echo connect");
            } catch (SocketTimeoutException e) {
                return false; // a loaded machine was too late for the client's limit
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
            return byCore(conf) > before;
        });
    }

    static void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("missing after " + PATIENCE_SECONDS + " s: " + what);
            }
            Thread.onSpinWait();
            Thread.yield();
        }
    }

    @Override
    public String[] getGroupsForUser(String request) throws IOException {
        String[] words = request.split(" ", 2);
        runs.incrementAndGet();
        switch (words[0]) {
            case "echo":
                return new String[] {words[1]};
            case "size":
                return new String[] {"x".repeat(Integer.parseInt(words[1]))};
            case "who":
                CallerContext context = CallerContext.getCurrent();
                return new String[] {String.valueOf(Server.getRemoteIp()), String.valueOf(Server.getRemoteUser()),
                    context == null ? "none" : context.getContext(), String.valueOf(Server.getRemotePort() > 0)};
            case "id":
                return new String[] {java.util.HexFormat.of().formatHex(Server.getClientId()), String.valueOf(Server.getCallId()),
                    String.valueOf(Server.getCallRetryCount())};
            case "throw":
                throw new java.io.FileNotFoundException(words[1]);
            case "run":
                throw new IllegalStateException(words[1]);
            case "retry":
                throw new RetriableException(words[1]);
            case "hold":
                hold();
                return new String[] {words[1]};
            case "once":
                return once(words[1], false);
            case "again":
                return once(words[1], deferred == null);
            case "defer":
                Server.Call call = Server.getCurCall().get();
                call.postponeResponse();
                deferred = call;
                return new String[] {words[1]};
            default:
                throw new IOException("unknown request " + request);
        }
    }

    /** As a NameNode does what may be done only once; the answer to the first run does not leave. fails: so does that run. */
    private String[] once(String answer, boolean fails) {
        RetryCache.CacheEntryWithPayload entry = RetryCache.waitForCompletion(cache, null, Server.getClientId(),
            Server.getCallId());
        if (entry != null && entry.isSuccess()) {
            return (String[]) entry.getPayload();
        }
        String[] made = {answer + (fails ? "" : effects.incrementAndGet())};
        RetryCache.setState(entry, !fails, fails ? null : made);
        if (deferred == null) {
            Server.Call call = Server.getCurCall().get();
            call.postponeResponse();
            deferred = call;
        }
        return made;
    }

    private void hold() throws IOException {
        held.incrementAndGet();
        try {
            if (!go.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException("nobody let go");
            }
        } catch (InterruptedException e) {
            throw new java.io.InterruptedIOException("interrupted");
        }
    }

    @Override
    public void close() {
        go.countDown();
        server.stop();
    }
}
