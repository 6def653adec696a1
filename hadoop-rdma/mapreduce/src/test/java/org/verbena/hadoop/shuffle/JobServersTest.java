// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.security.token.Token;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs for which the core does not start. */
class JobServersTest {
    private static final List<String> JOBS = List.of("job_1_0001", "job_1_0002");

    @TempDir
    Path folder;

    @Test
    void a_start_that_failed_is_not_repeated_for_each_reducer_of_the_job() {
        Configuration conf = new Configuration(false);
        conf.set("verbena.core.tl.tcp.interface", "192.0.2.1"); // of no host
        conf.set("verbena.core.tl.enable", "tcp");
        JobTokenSecretManager secrets = new JobTokenSecretManager();
        for (String job : JOBS) {
            secrets.addTokenForJob(job, new Token<>(new JobTokenIdentifier(new Text(job)), secrets));
        }
        Map<String, String> users = Map.of(JOBS.get(0), "alice", JOBS.get(1), "bob");
        try (JobServers servers = new JobServers(new ShuffleConf(conf), null, secrets, users, NodeSite.of(conf))) {
            IOException first = failure(servers, JOBS.get(0));
            assertSame(first, failure(servers, JOBS.get(0)));
            assertNotSame(first, failure(servers, JOBS.get(1)), "each job is tried for itself");
            servers.end(JOBS.get(0));
            assertNotSame(first, failure(servers, JOBS.get(0)), "forgotten with the job");
        }
    }

    private static IOException failure(JobServers servers, String job) {
        return assertThrows(IOException.class, () -> servers.address(job, InetAddress.getLoopbackAddress()));
    }

    /** A channel without an address makes the service throw what it did not foresee. */
    @Test
    void a_reducer_gets_an_answer_whatever_is_thrown() throws Exception {
        try (TestNode node = new TestNode(List.of(new File(folder.toFile(), "local")), 1, 1, 1000)) {
            EmbeddedChannel channel = new EmbeddedChannel(new AddressHandler(node.servers())) {
                @Override
                protected SocketAddress localAddress0() {
                    return InetSocketAddress.createUnresolved("nowhere", 1);
                }
            };
            String uri = AddressHandler.PATH + "?job=" + TestNode.JOB;
            FullHttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, uri);
            request.headers().set(SecureShuffleUtils.HTTP_HEADER_URL_HASH, SecureShuffleUtils.hashFromString(
                SecureShuffleUtils.buildMsgFrom(new URL("http", "", node.servers().port(), uri)), TestNode.secret()));
            channel.writeInbound(request);
            FullHttpResponse answer = null;
            for (long end = System.nanoTime() + TestNode.LIMIT; answer == null && System.nanoTime() < end; Thread.sleep(5)) {
                channel.runPendingTasks();
                answer = channel.readOutbound();
            }
            assertEquals(503, answer.status().code());
            assertTrue(answer.content().toString(StandardCharsets.UTF_8).contains("NullPointerException"));
        }
    }
}
