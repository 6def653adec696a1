// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.tools.GetUserMappingsProtocol;
import org.apache.hadoop.tools.proto.GetUserMappingsProtocolProtos.GetUserMappingsProtocolService;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolServerSideTranslatorPB;

/**
 * Calls between two JVMs through Hadoop's RPC. {@code stock server} and {@code core server} tell where they listen, as
 * {@code {"port": N}}, and end with their input; {@code stock client PORT} and {@code core client PORT} answer lines {@code call
 * CLIENTS CALLS} with one line of JSON each. Each client is a user with a connection of its own and a thread. A call sends a few
 * bytes, which come back and are compared.
 */
public final class RpcLoad {
    private static final String ENGINE = "org.verbena.hadoop.rpc.VerbenaRpcEngine";
    private static final int HANDLERS = 10;

    private final Configuration conf = new Configuration();
    private final List<GetUserMappingsProtocolClientSideTranslatorPB> clients = new ArrayList<>();

    private RpcLoad(String side) {
        if (side.equals("core")) {
            conf.set("rpc.engine." + GetUserMappingsProtocolPB.class.getName(), ENGINE);
            conf.set("verbena.rpc.auth", "none");
        }
    }

    /**
     * Runs until {@code quit} or the end of the input.
     *
     * @param words side, server or client, port
     * @throws Exception when it cannot listen or connect
     */
    public static void main(String[] words) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        RpcLoad load = new RpcLoad(words[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        if (words[1].equals("server")) {
            answers.println("{\"port\": " + load.serve() + "}");
            while (lines.readLine() != null) {
                continue; // only the end counts
            }
        } else {
            load.client(Integer.parseInt(words[2]), lines, answers);
        }
        System.exit(0);
    }

    private int serve() throws IOException {
        GetUserMappingsProtocol echo = user -> new String[] {user};
        RPC.setProtocolEngine(conf, GetUserMappingsProtocolPB.class, org.apache.hadoop.ipc.ProtobufRpcEngine2.class);
        RPC.Server server = new RPC.Builder(conf).setProtocol(GetUserMappingsProtocolPB.class)
            .setInstance(GetUserMappingsProtocolService.newReflectiveBlockingService(
                new GetUserMappingsProtocolServerSideTranslatorPB(echo)))
            .setBindAddress("127.0.0.1").setPort(0).setNumHandlers(HANDLERS).build();
        server.start();
        return server.getPort();
    }

    private void client(int port, BufferedReader lines, PrintStream answers) throws IOException {
        RPC.setProtocolEngine(conf, GetUserMappingsProtocolPB.class, org.apache.hadoop.ipc.ProtobufRpcEngine2.class);
        answers.println("{}");
        for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
            String[] words = line.trim().split(" +");
            try {
                answers.println(call(port, Integer.parseInt(words[1]), Integer.parseInt(words[2])));
            } catch (IOException | InterruptedException | RuntimeException e) {
                answers.println("{\"error\": \"" + (line + ": " + e).replaceAll("[\"\\\\\\n]", " ") + "\"}");
            }
        }
    }

    private String call(int port, int count, int calls) throws IOException, InterruptedException {
        while (clients.size() < count) {
            clients.add(new GetUserMappingsProtocolClientSideTranslatorPB(RPC.getProtocolProxy(GetUserMappingsProtocolPB.class, 1,
                new InetSocketAddress("127.0.0.1", port), UserGroupInformation.createRemoteUser("user" + clients.size()), conf,
                NetUtils.getDefaultSocketFactory(conf)).getProxy()));
        }
        ExecutorService threads = Executors.newFixedThreadPool(count);
        long[] each = new long[count * calls];
        List<Callable<Void>> work = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int mine = i;
            work.add(() -> run(clients.get(mine), each, mine * calls, calls));
        }
        long start = System.nanoTime();
        for (Future<Void> done : threads.invokeAll(work)) {
            try {
                done.get();
            } catch (ExecutionException e) {
                throw new IOException(e.getCause().toString(), e.getCause());
            }
        }
        long all = System.nanoTime() - start;
        threads.shutdown();
        Arrays.sort(each);
        return "{\"ns\": " + all + ", \"calls\": " + each.length + ", \"p50_ns\": " + each[each.length / 2] + "}";
    }

    private static Void run(GetUserMappingsProtocol client, long[] each, int from, int calls) throws IOException {
        for (int i = from; i < from + calls; i++) {
            String sent = "call " + i;
            long start = System.nanoTime();
            String[] got = client.getGroupsForUser(sent);
            each[i] = System.nanoTime() - start;
            if (got.length != 1 || !got[0].equals(sent)) {
                throw new IOException("sent '" + sent + "' and got " + Arrays.toString(got));
            }
        }
        return null;
    }
}
