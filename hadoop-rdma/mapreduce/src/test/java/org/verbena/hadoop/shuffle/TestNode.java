// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import javax.crypto.SecretKey;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapred.SpillRecord;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.PluginSetting;

/** A NodeManager's shuffle service in this process, with the outputs of one job's maps: of each, so many bytes for each reducer. */
final class TestNode implements AutoCloseable {
    static final String JOB = "job_1_0001";
    static final long LIMIT = TimeUnit.SECONDS.toNanos(120);
    private static final byte[] SECRET = "0123456789abcdef0123".getBytes(StandardCharsets.US_ASCII);
    private static final int CHECKSUM = 4;

    /** Of a reducer that waits for the core: with the usual wait it fetches by HTTP from a node whose host is loaded. */
    final ShuffleConf conf = patient();
    private final List<File> folders;
    private final VerbenaShuffleHandler handler = new VerbenaShuffleHandler();
    private final int port;

    /** folders: the node's local folders; the outputs of map i lie in the one with number i modulo their count. */
    TestNode(List<File> folders, int maps, int reducers, int bytes) throws Exception {
        this(folders, maps, reducers, bytes, new Configuration());
    }

    /** site: settings of the node. */
    TestNode(List<File> folders, int maps, int reducers, int bytes, Configuration site) throws Exception {
        this.folders = folders;
        site.setInt("mapreduce.shuffle.port", 0);
        site.set("yarn.nodemanager.local-dirs", String.join(",", folders.stream().map(File::getPath).toList()));
        for (int map = 0; map < maps; map++) {
            write(map, reducers, bytes, new JobConf(site));
        }
        handler.setAuxiliaryLocalPathHandler(new Paths());
        handler.init(site);
        handler.start();
        Token<JobTokenIdentifier> token = new Token<>(new JobTokenIdentifier(new Text(JOB)).getBytes(), SECRET,
            JobTokenIdentifier.KIND_NAME, new Text("service"));
        handler.initializeApplication(new ApplicationInitializationContext(user(), ApplicationId.newInstance(1, 1),
            ShuffleHandler.serializeServiceData(token)));
        port = ShuffleHandler.deserializeMetaData(handler.getMetaData());
    }

    static ShuffleConf patient() {
        Configuration site = new Configuration(false);
        bePatient(site);
        return new ShuffleConf(site);
    }

    /** A reducer with these settings waits for the core. */
    static void bePatient(Configuration site) {
        site.setLong(PluginSetting.SHUFFLE_CONNECT_WAIT_MS.key(), 2 * TimeUnit.NANOSECONDS.toMillis(LIMIT));
    }

    private static String user() {
        return System.getProperty("user.name");
    }

    static SecretKey secret() {
        return JobTokenSecretManager.createSecretKey(SECRET);
    }

    static String attempt(int map) {
        return String.format("attempt_1_0001_m_%06d_0", map);
    }

    JobServers servers() {
        return handler.servers();
    }

    File output(int map) {
        return new File(folders.get(map % folders.size()), "usercache/" + user() + "/appcache/application_1_0001/output/"
            + attempt(map) + "/file.out");
    }

    /** Every byte of a segment is the number of its map. */
    void write(int map, int reducers, int bytes, JobConf conf) throws IOException {
        File file = output(map);
        Files.createDirectories(file.getParentFile().toPath());
        SpillRecord index = new SpillRecord(reducers);
        byte[] records = new byte[bytes];
        Arrays.fill(records, (byte) map);
        CRC32 sum = new CRC32();
        sum.update(records);
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file.toPath()))) {
            for (int reducer = 0; reducer < reducers; reducer++) {
                out.write(records);
                out.write(ByteBuffer.allocate(CHECKSUM).putInt((int) sum.getValue()).array());
                index.putIndex(new IndexRecord((long) reducer * (bytes + CHECKSUM), bytes, bytes + CHECKSUM), reducer);
            }
        }
        index.writeToFile(new Path(file.getPath() + ".index"), conf);
    }

    /** Of the node's shuffle service. */
    URL url() throws IOException {
        return new URL("http", InetAddress.getLoopbackAddress().getHostAddress(), port, "/mapOutput?job=" + JOB);
    }

    /** A reducer's way to this node. */
    Link link(CoreClient client) throws IOException {
        return new Link("node", url(), JOB, client, secret(), TimeUnit.NANOSECONDS.toMillis(LIMIT));
    }

    /** Fetches whole segments of a reducer as its fetchers do. */
    static ByteBuffer fetch(CoreClient client, Link link, VbnPeer peer, int reducer, List<Integer> maps) throws IOException {
        List<Wire.Range> asked = maps.stream().map(map -> new Wire.Range(attempt(map), 0, 0)).toList();
        List<Wire.Size> sizes = link.lookup(peer, reducer, asked, LIMIT).sizes();
        ByteBuffer room = ByteBuffer.allocateDirect(sizes.stream().mapToInt(size -> (int) size.part()).sum());
        List<Wire.Range> ranges = new ArrayList<>();
        for (int i = 0; i < maps.size(); i++) {
            ranges.add(new Wire.Range(attempt(maps.get(i)), 0, sizes.get(i).part()));
        }
        Exchange exchange = client.send(peer, Wire.LOAD, reducer, ranges, room);
        try {
            exchange.awaitBytes(room.limit(), LIMIT);
        } finally {
            client.end(exchange);
        }
        return room;
    }

    @Override
    public void close() {
        handler.stop();
    }

    /** Finds what lies in the folders. */
    private final class Paths implements AuxiliaryLocalPathHandler {
        @Override
        public Path getLocalPathForRead(String path) throws IOException {
            for (File folder : folders) {
                File found = new File(folder, path);
                if (found.exists()) {
                    return new Path(found.getPath());
                }
            }
            throw new IOException("no " + path);
        }

        @Override
        public Path getLocalPathForWrite(String path) {
            return new Path(new File(folders.get(0), path).getPath());
        }

        @Override
        public Path getLocalPathForWrite(String path, long size) {
            return getLocalPathForWrite(path);
        }

        @Override
        public Iterable<Path> getAllLocalPathsForRead(String path) throws IOException {
            return List.of(getLocalPathForRead(path));
        }
    }
}
