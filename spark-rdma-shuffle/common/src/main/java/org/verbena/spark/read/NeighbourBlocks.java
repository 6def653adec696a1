// SPDX-License-Identifier: Apache-2.0
// Blocks of executors of this host whose memory cannot be seen from here, for example because each has its own /dev/shm.
package org.verbena.spark.read;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;

/**
 * Spark decides by the host's name that it reads such blocks itself, and does not ask their owner when it cannot. They
 * come by the transfer service then, one at a time, when the task reads them. Thread safe.
 */
public final class NeighbourBlocks {
    private static final Logger LOG = LoggerFactory.getLogger(NeighbourBlocks.class);

    private final SparkEnv env;
    private final AtomicBoolean warned = new AtomicBoolean();
    private final ThreadLocal<Table> last = new ThreadLocal<>();

    /** Partitions [start, end) of a shuffle. */
    private record Range(int shuffle, int start, int end) {
    }

    private record Located(BlockManagerId owner, long size) {
    }

    /** Where all map outputs of a range are, by map task; made once per reduce task. */
    private record Table(Range range, Map<Long, Located> outputs) {
    }

    /** For one executor. */
    public NeighbourBlocks(SparkEnv env) {
        this.env = env;
    }

    /** A buffer that fetches the block when it is read. Never waits. Null when no executor is known to have the block. */
    ManagedBuffer find(BlockId block) {
        BlockRange range = BlockRange.of(block);
        Located found = range == null ? null : locate(range);
        if (found == null || found.owner().executorId().equals(env.executorId())) {
            return null;
        }
        if (warned.compareAndSet(false, true)) {
            LOG.warn("Verbena on executor {} cannot see the memory of executor {} on the same host ({}): its blocks come "
                + "by messages, one at a time; let them share /dev/shm (docker run --ipc or a common volume), or set "
                + "spark.shuffle.readHostLocalDisk=false", env.executorId(), found.owner().executorId(),
                found.owner().host());
        }
        return new LateBuffer(env, found.owner(), block.name(), found.size());
    }

    private Located locate(BlockRange block) {
        Range range = new Range(block.shuffle(), block.start(), block.end());
        Table table = last.get();
        if (table == null || !table.range().equals(range) || !table.outputs().containsKey(block.map())) {
            table = new Table(range, load(range));
            last.set(table);
        }
        return table.outputs().get(block.map());
    }

    private Map<Long, Located> load(Range range) {
        Map<Long, Located> outputs = new HashMap<>();
        var owners = env.mapOutputTracker().getMapSizesByExecutorId(range.shuffle(), 0, Integer.MAX_VALUE,
            range.start(), range.end());
        while (owners.hasNext()) {
            Tuple2<BlockManagerId, scala.collection.Seq<Tuple3<BlockId, Object, Object>>> owner = owners.next();
            Iterator<Tuple3<BlockId, Object, Object>> blocks = owner._2().iterator();
            while (blocks.hasNext()) {
                Tuple3<BlockId, Object, Object> block = blocks.next();
                if (block._1() instanceof ShuffleBlockId one) {
                    outputs.merge(one.mapId(), new Located(owner._1(), (Long) block._2()),
                        (a, b) -> new Located(a.owner(), a.size() + b.size()));
                }
            }
        }
        return outputs;
    }
}
