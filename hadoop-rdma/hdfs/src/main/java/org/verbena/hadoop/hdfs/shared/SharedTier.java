// SPDX-License-Identifier: Apache-2.0
// A DataNode's part of the shared path: the volumes that it owns.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.settings.SharedConf;

/**
 * Owns a volume for this DataNode, or several: those of a former process of it, a new one when there is none, and volumes of dead
 * DataNodes. Two threads: one shows that the owner lives, and never waits for anything else; the other acquires and adopts, which
 * may wait for the NameNode and for the loading of many replicas ({@link SharedThreads}).
 *
 * <p>Storage type ARCHIVE: no file of the policy HOT has it otherwise, so the NameNode can tell the replica on the shared path
 * from all others. DISK could not be told from the host's disks, PROVIDED cannot be written, RAM_DISK wants locked memory.
 */
public final class SharedTier {
    /** The storage type. */
    public static final String TYPE = "ARCHIVE";
    static final Logger LOG = LoggerFactory.getLogger(SharedTier.class);
    /** The shortest time between two beats is this part of the lease. */
    static final int BEATS = 6;
    /**
     * Reports of a volume that was added to a running DataNode, two heartbeats apart. The NameNode believes a report that follows a
     * heartbeat with the storage, and keeps silent about blocks of deleted files in the first one; Hadoop's next comes hours later.
     */
    private static final int REPORTS = 3;

    private final SharedConf settings;
    private final LongSupplier clock;
    private final List<VolumeFolder> held = new CopyOnWriteArrayList<>();
    private final Queue<Path> lost = new ConcurrentLinkedQueue<>();
    private final Silence owners = new Silence();
    private final Silence heartbeats = new Silence();
    private final Trouble trouble;
    private final LongAdder syncs = new LongAdder();
    private Owner me;
    private Path locks;
    private Path cluster;
    private VolumeUser user;
    private NameNodeView nameNode;
    private long quietNanos;
    private volatile int volumes = 1;
    private volatile long beaten;
    private volatile boolean missed;
    private boolean saidRefusal;
    private boolean saidWait;
    private long retryAt;
    private int reports;
    private long reportAt;
    private long reportNanos;

    /** For a DataNode's settings. */
    public SharedTier(SharedConf settings) {
        this(settings, System::nanoTime);
    }

    SharedTier(SharedConf settings, LongSupplier clock) {
        this.settings = settings;
        this.clock = clock;
        trouble = new Trouble(clock);
        beaten = clock.getAsLong();
        retryAt = beaten;
    }

    /**
     * Looks at the path. Nothing is owned yet.
     *
     * @param node identity of the DataNode
     * @param clusterId identity of the cluster, which has a folder of its own
     * @param local a folder of the host's own disk, for Hadoop's locks
     * @param heartbeatMillis how often DataNodes show the NameNode that they live
     * @param dataNode serves what is owned
     * @param view what the NameNode knows
     * @return false when there can be no shared volume, which was said
     */
    public boolean open(String node, String clusterId, Path local, long heartbeatMillis, VolumeUser dataNode, NameNodeView view) {
        user = dataNode;
        nameNode = view;
        locks = local;
        reportNanos = TimeUnit.MILLISECONDS.toNanos(2 * heartbeatMillis);
        quietNanos = TimeUnit.MILLISECONDS.toNanos(Math.max(settings.leaseMillis() / 2, 4 * heartbeatMillis));
        try {
            me = Owner.here(node);
            Path shared = SharedPath.of(settings.dir());
            cluster = SharedPath.ofCluster(shared, clusterId);
            LOG.info("Verbena hhh-l: the shared path is {}, its file system is {}", shared, SharedPath.kind(shared));
            return true;
        } catch (IOException | RuntimeException e) {
            LOG.warn("Verbena hhh-l: no volume on the shared path, replicas go to memory, SSD and disk: {}",
                e instanceof IOException ? e.getMessage() : e.toString());
            return false;
        }
    }

    /** Asks the file system something: returns when it has answered, whatever the answer is. */
    void look() {
        Files.exists(cluster);
    }

    /** Nanoseconds between two beats. */
    long beatNanos() {
        return leaseNanos() / BEATS;
    }

    private long leaseNanos() {
        return TimeUnit.MILLISECONDS.toNanos(settings.leaseMillis());
    }

    /** Shows that this process lives, and finds volumes that it has lost. */
    void beat() {
        for (VolumeFolder volume : held) {
            Path data = volume.data();
            try {
                if (!volume.isLost()) {
                    volume.beat();
                } else if (held.remove(volume)) {
                    LOG.warn("Verbena hhh-l: volume {} has another owner now, because this DataNode was silent for {} ms or longer",
                        volume.name(), settings.leaseMillis());
                    lost.add(data);
                }
            } catch (IOException e) {
                trouble.met(e, cluster);
                return; // no beat, no new replicas
            }
        }
        if (Files.isDirectory(cluster)) {
            beaten = clock.getAsLong();
        } else {
            trouble.met(new IOException("no such file: " + cluster), cluster);
        }
    }

    /** Serves lost volumes no longer. Their readers and writers have to end first: no work for the thread that beats. */
    void drop() {
        for (Path data = lost.poll(); data != null; data = lost.poll()) {
            user.lost(data);
        }
    }

    /** Acquires what was this DataNode's, or a new volume, and adopts at most one of another. */
    void acquire() {
        drop();
        if (clock.getAsLong() - retryAt < 0) {
            return;
        }
        try {
            List<VolumeFolder> all = VolumeFolder.all(cluster);
            volumes = Math.max(1, all.size());
            catchUp();
            reportMissed();
            report();
            all.removeIf(volume -> held.stream().anyMatch(mine -> mine.name().equals(volume.name())));
            boolean waits = takeOwn(all);
            if (held.isEmpty() && !waits) {
                make();
            } else {
                adopt(all);
            }
        } catch (IOException e) {
            trouble.met(e, cluster);
        }
    }

    /** Pools that cannot be loaded keep no volume from being acquired. */
    private void catchUp() {
        try {
            if (user.catchUp()) {
                reportMore();
            }
        } catch (IOException e) {
            trouble.met(e, cluster);
            reportMore(); // others may have been loaded
        }
    }

    private void reportMore() {
        reports = REPORTS;
        reportAt = clock.getAsLong() + reportNanos;
    }

    /** The path is back: the NameNode hears what is there, and says again what is to be deleted. */
    private void reportMissed() {
        if (missed) {
            missed = false;
            reportMore();
        }
    }

    private void report() {
        if (reports > 0 && clock.getAsLong() - reportAt >= 0 && user.report()) {
            reports--;
            reportAt = clock.getAsLong() + reportNanos;
        }
    }

    /** Takes the volumes of former processes of this DataNode. Returns whether one of them may still live. */
    private boolean takeOwn(List<VolumeFolder> others) throws IOException {
        boolean waits = false;
        for (VolumeFolder volume : List.copyOf(others)) {
            int last = volume.last();
            Owner owner = volume.owner(last);
            if (!owner.node().equals(me.node())) {
                continue;
            }
            others.remove(volume);
            if (volume.pulse(last) == 0 || owner.hasEnded() || silence(volume, last) >= leaseNanos()) {
                take(volume, last, "its own");
            } else if (!saidWait) {
                saidWait = true;
                LOG.info("Verbena hhh-l: volume {} belongs to {}; this DataNode waits until that process has been silent for {} ms",
                    volume.name(), owner, settings.leaseMillis());
            }
            waits |= !held.contains(volume);
        }
        return waits;
    }

    private long silence(VolumeFolder volume, int last) throws IOException {
        return owners.nanos(volume.name(), last + " " + volume.pulse(last), clock.getAsLong());
    }

    private void make() throws IOException {
        VolumeFolder volume = VolumeFolder.create(cluster, me);
        String layout = LustreLayout.set(System.getenv().getOrDefault("PATH", ""), volume.data(), settings.stripes());
        serve(volume, "a new one" + (layout.isEmpty() ? "" : ", " + layout));
    }

    /** Adopts a volume of which neither the shared path nor the NameNode has heard for long. */
    private void adopt(List<VolumeFolder> others) throws IOException {
        Collections.shuffle(others);
        Map<String, String> alive = null;
        for (VolumeFolder volume : others) {
            int last = volume.last();
            long silence = silence(volume, last);
            if (last == 0 || silence < leaseNanos() / 2) {
                continue;
            }
            alive = alive == null ? ask() : alive;
            if (alive == null) {
                return;
            }
            Owner owner = volume.owner(last);
            String heartbeat = alive.get(owner.node());
            long quiet = heartbeat == null ? quietNanos : heartbeats.nanos(owner.node(), heartbeat, clock.getAsLong());
            if (silence >= leaseNanos() && quiet >= quietNanos) {
                take(volume, last, "that of " + owner + ", which neither the shared path nor the NameNode has heard of for "
                    + TimeUnit.NANOSECONDS.toMillis(Math.min(silence, heartbeat == null ? silence : quiet)) + " ms");
                return;
            }
        }
    }

    /** The DataNodes that the NameNode knows; null when it does not tell. */
    private Map<String, String> ask() {
        try {
            Map<String, String> alive = nameNode.heartbeats();
            saidRefusal = false;
            return alive;
        } catch (IOException e) {
            if (!saidRefusal) {
                saidRefusal = true;
                LOG.warn("Verbena hhh-l: this DataNode adopts no volume, because the NameNode does not tell which DataNodes "
                    + "live: {}; run DataNodes as a member of dfs.permissions.superusergroup", e.getMessage());
            }
            return null;
        }
    }

    private void take(VolumeFolder volume, int last, String what) throws IOException {
        if (volume.claim(me, last)) {
            owners.forget(volume.name());
            serve(volume, what);
        }
    }

    private void serve(VolumeFolder volume, String what) throws IOException {
        VolumeData.prepare(volume.data(), me.node(), locks.resolve("verbena-" + volume.name() + ".lock"));
        held.add(volume);
        try {
            user.serve(volume.data());
            reportMore();
            LOG.info("Verbena hhh-l: this DataNode owns the volume {} in {}: {}", volume.name(), cluster, what);
        } catch (IOException | RuntimeException e) {
            held.remove(volume);
            volume.leave();
            retryAt = clock.getAsLong() + Trouble.PAUSE_NANOS;
            LOG.warn("Verbena hhh-l: the volume {} cannot be served: {}; another DataNode may take it", volume.name(),
                e.toString());
        }
    }

    /** The DataNode ends. */
    void leave() {
        for (VolumeFolder volume : held) {
            try {
                volume.leave();
            } catch (IOException e) {
                LOG.debug("the shared path, at the end: {}", e.toString());
            }
        }
        held.clear();
    }

    /** Whether new replicas may go there: the path answers, and nothing has failed just now. */
    public boolean takesReplicas() {
        return answers() && !trouble.isRecent();
    }

    /** Whether the path has answered lately. */
    public boolean answers() {
        return clock.getAsLong() - beaten < leaseNanos();
    }

    /** Something failed there. */
    public void failed(IOException fault) {
        trouble.met(fault, cluster);
    }

    /**
     * The part of the file system that one volume may fill.
     *
     * @param all bytes of the file system
     */
    public long share(long all) {
        return settings.size() > 0 ? Math.min(settings.size(), all) : all / volumes;
    }

    /** Whether a folder is one that was given to the DataNode. */
    public boolean isData(Path folder) {
        return cluster != null && folder.toAbsolutePath().startsWith(cluster);
    }

    /**
     * Whether the data of a volume has the name by which it was given to the DataNode. A folder that was made there since is not
     * this data.
     */
    public static boolean isThere(Path data) {
        return VolumeData.isPrepared(data);
    }

    /** The NameNode wants a replica to be deleted while the path is away, or has been told that it is gone. */
    public void missed() {
        missed = true;
    }

    /** A file or folder was forced to the servers. */
    public void synced() {
        syncs.increment();
    }

    /** How often. */
    public long syncs() {
        return syncs.sum();
    }

    /** How many volumes this DataNode owns. */
    public int held() {
        return held.size();
    }
}
