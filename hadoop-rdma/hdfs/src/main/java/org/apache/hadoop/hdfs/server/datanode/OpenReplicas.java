// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.util.Daemon;
import org.slf4j.LoggerFactory;

/**
 * Finished replicas of a DataNode whose files stay open for the next reads. An entry is one of Hadoop's objects for replicas: an
 * append, a recovery, a truncation and a move replace the object, and a deletion removes it. Once a second the files of objects
 * that are no replicas any more are closed, and those that nobody reads. Thread safe.
 */
final class OpenReplicas {
    private static final int MOST = 1024;
    /** Of the process's limit of open files; each replica has two. */
    private static final int LIMIT_PART = 16;
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long PAUSE_MS = 1000;

    private final DataNode dataNode;
    private final BiConsumer<String, ReplicaInfo> uses;
    private final int most;
    /** By block pool and block, least recently used first. Guarded by this. */
    private final Map<Key, OpenReplica> open = new LinkedHashMap<>(16, 0.75f, true);
    /** Closes what has to be closed, while there is something. Guarded by this. */
    private boolean watched;

    /** Names a block. */
    private record Key(String pool, long block) { }

    OpenReplicas(DataNode dataNode, BiConsumer<String, ReplicaInfo> uses) {
        this.dataNode = dataNode;
        this.uses = uses;
        this.most = (int) Math.max(1, Math.min(MOST, fileLimit() / LIMIT_PART / 2));
    }

    private static long fileLimit() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
            ? system.getMaxFileDescriptorCount() : MOST;
    }

    /**
     * The open files of a replica.
     *
     * @param replica of the block, at this moment
     * @return null when Hadoop has to serve it
     */
    OpenReplica of(ExtendedBlock block, FinalizedReplica replica) throws IOException {
        Key key = new Key(block.getBlockPoolId(), block.getBlockId());
        OpenReplica found;
        synchronized (this) {
            found = open.get(key);
        }
        if (found != null && found.replica() == replica) {
            found.use();
            uses.accept(block.getBlockPoolId(), replica); // Hadoop's volumes know by themselves of files that they open
            return found;
        }
        OpenReplica opened = OpenReplica.open(dataNode, block, replica);
        if (opened != null) {
            put(key, opened);
        }
        return opened;
    }

    private void put(Key key, OpenReplica opened) {
        List<OpenReplica> gone = new ArrayList<>();
        synchronized (this) {
            gone.add(open.put(key, opened));
            if (open.size() > most) {
                gone.add(open.remove(open.keySet().iterator().next()));
            }
            if (!watched) {
                watched = true;
                new Daemon(this::watch).start(); // not of the DataNode's group, in which each thread counts as a transfer
            }
        }
        close(gone);
    }

    /** A read has failed. */
    void forget(OpenReplica failed) {
        synchronized (this) {
            open.values().remove(failed);
        }
        failed.close();
    }

    private void watch() {
        Thread.currentThread().setName("verbena-open-replicas");
        boolean more = true;
        while (more) {
            try {
                Thread.sleep(PAUSE_MS);
            } catch (InterruptedException e) {
                LoggerFactory.getLogger(OpenReplicas.class).debug("nothing interrupts this thread: {}", e.toString());
            }
            close(removeUseless());
            synchronized (this) {
                watched = !open.isEmpty();
                more = watched;
            }
        }
    }

    private List<OpenReplica> removeUseless() {
        Map<Key, OpenReplica> all;
        synchronized (this) {
            all = new LinkedHashMap<>(open);
        }
        long now = System.nanoTime();
        all.entrySet().removeIf(one -> dataNode.shouldRun && now - one.getValue().lastUse() < IDLE_NANOS
            && OwnReads.replica(dataNode, one.getKey().pool(), one.getKey().block()) == one.getValue().replica());
        synchronized (this) {
            all.forEach(open::remove);
        }
        return new ArrayList<>(all.values());
    }

    private static void close(List<OpenReplica> gone) {
        for (OpenReplica one : gone) {
            if (one != null) {
                one.close();
            }
        }
    }
}
