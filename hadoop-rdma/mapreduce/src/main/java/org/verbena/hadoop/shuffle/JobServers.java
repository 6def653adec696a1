// SPDX-License-Identifier: Apache-2.0
// The jobs that a NodeManager serves by the core, each with a context and a key of its own.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.net.InetAddress;
import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapred.MapOutputBridge;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.security.token.SecretManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.FailedStart;
import org.verbena.core.plugin.JobKeys;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.core.plugin.PluginSetting;

/**
 * A job's context is opened when its first reducer asks for the address, and closed when the job ends or nobody has used it
 * for a minute; a later request opens it again. Thread safe.
 */
final class JobServers implements AutoCloseable {
    /** What the key is for; both sides derive it from the job's shuffle secret. */
    static final String KEY_LABEL = "verbena shuffle 1";
    private static final Logger LOG = LoggerFactory.getLogger(JobServers.class);
    static final long IDLE = TimeUnit.SECONDS.toNanos(60);
    private static final int CHECK_SECONDS = 10;

    private final ShuffleConf conf;
    private final MapOutputBridge outputs;
    private final JobTokenSecretManager secrets;
    private final Map<String, String> users;
    private final NodeSite node;
    private final Map<String, JobServer> open = new HashMap<>();
    private final Map<String, ServedBytes> served = new HashMap<>();
    private final Map<String, FailedStart> failed = new HashMap<>();
    private final ScheduledExecutorService worker;

    /**
     * Starts without any job.
     *
     * @param secrets the stock service's secrets of jobs
     * @param users the stock service's users of jobs
     * @param node the NodeManager's settings
     */
    JobServers(ShuffleConf conf, MapOutputBridge outputs, JobTokenSecretManager secrets, Map<String, String> users,
            NodeSite node) {
        this.node = node;
        this.conf = conf;
        this.outputs = outputs;
        this.secrets = secrets;
        this.users = users;
        worker = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "verbena-jobs");
            thread.setDaemon(true);
            return thread;
        });
        worker.scheduleWithFixedDelay(this::look, CHECK_SECONDS, CHECK_SECONDS, TimeUnit.SECONDS);
    }

    /** What it throws would end all later looks. */
    private void look() {
        try {
            closeUnused(System.nanoTime());
        } catch (RuntimeException | Error e) {
            LOG.warn("Verbena: jobs that nobody uses are not closed this time: {}", e.toString());
        }
    }

    /** Runs a task that may block. */
    void execute(Runnable task) {
        try {
            worker.execute(task);
        } catch (RejectedExecutionException e) {
            LOG.debug("the service is stopping");
        }
    }

    /** The port that requests sign. */
    int port() {
        return outputs.port();
    }

    /**
     * The job's shuffle secret.
     *
     * @throws IOException when no such job runs here
     */
    SecretKey secret(String job) throws IOException {
        try {
            return secrets.retrieveTokenSecret(job);
        } catch (SecretManager.InvalidToken e) {
            throw new IOException("no such job runs on this node", e);
        }
    }

    /**
     * The address of a job's engine, which is started if need be.
     *
     * @param local the address of this host that the first reducer has asked
     * @throws IOException when the job cannot be served by the core; the text is for the reducer's log
     */
    synchronized byte[] address(String job, InetAddress local) throws IOException {
        JobServer server = open.get(job);
        if (server == null) {
            InetAddress shown = known(local);
            if (open.size() >= conf.jobs()) {
                throw new IOException("this node serves " + open.size() + " jobs by the core already; raise "
                    + PluginSetting.SHUFFLE_JOBS);
            }
            String user = users.get(job);
            if (user == null) {
                throw new IOException("the job has ended");
            }
            server = start(job, user, secret(job), shown);
            open.put(job, server);
            LOG.info("Verbena: {} is served by {} from {}", job, server.transports(), shown.getHostAddress());
        }
        server.used();
        return server.address();
    }

    /** All reducers of the job ask: a start that fails is not repeated for each of them, while other jobs wait for it. */
    private JobServer start(String job, String user, SecretKey secret, InetAddress shown) throws IOException {
        FailedStart failure = failed.computeIfAbsent(job, name -> new FailedStart());
        failure.check();
        try {
            return new JobServer(job, user, JobKeys.derive(secret.getEncoded(), KEY_LABEL), shown, conf, outputs,
                node, served.computeIfAbsent(job, name -> new ServedBytes()));
        } catch (IOException | GeneralSecurityException | RuntimeException | Error e) {
            throw failure.failed(e instanceof IOException known ? known : new IOException(e.toString(), e));
        }
    }

    /**
     * The address for all reducers of a job: a reducer of this host may have asked a loopback address, as where the host's own name
     * means 127.0.1.1, and reducers of other hosts would find nobody there.
     */
    private InetAddress known(InetAddress asked) {
        InetAddress seen = asked.isLoopbackAddress() ? LocalAddress.seenBy(List.of(node.resourceManager())) : null;
        return seen == null ? asked : seen;
    }

    /** now: a time of System.nanoTime. */
    synchronized void closeUnused(long now) {
        open.values().removeIf(server -> {
            boolean unused = server.unusedFor(now) > IDLE;
            if (unused) {
                server.close();
            }
            return unused;
        });
    }

    /** A job has ended: what it was served is said, in one line. */
    synchronized void end(String job) {
        JobServer server = open.remove(job);
        ServedBytes bytes = served.remove(job);
        failed.remove(job);
        if (server != null) {
            execute(server::close);
        }
        if (bytes != null) {
            LOG.info("Verbena: {} has ended; this node served {} by the core", job, bytes);
        }
    }

    @Override
    public void close() {
        worker.shutdown();
        synchronized (this) {
            open.values().forEach(JobServer::close);
            open.clear();
        }
    }
}
