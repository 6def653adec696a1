// SPDX-License-Identifier: Apache-2.0
// A map task's result with two sizes for every partition: one to plan with, one to fetch with.
package org.verbena.spark.write;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.KryoSerializable;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;

/**
 * Adaptive execution asks the driver's copy for sizes and gets those of compressed bytes. Reduce tasks get what the driver
 * sends on, Spark's own status with the true sizes: by these they bound the bytes in flight (spark.reducer.maxSizeInFlight)
 * and send blocks to disk (spark.network.maxRemoteBlockSizeFetchToMem). Executors need not know this class, whose jar
 * Spark's map output tracker does not see. As thread safe as Spark's statuses.
 */
public final class PlannedStatus implements MapStatus, Serializable, KryoSerializable {
    private static final long serialVersionUID = 1;

    private MapStatus truth;
    private MapStatus planned;
    private long checksum;
    /** Whether this is the driver's copy. */
    private transient boolean arrived;

    /** For Kryo. */
    private PlannedStatus() {
    }

    /**
     * Makes a status on an executor.
     *
     * @param truth says how large blocks are
     * @param planned says how large they would be if they were compressed; empty where truth is, and only there
     * @param checksum both statuses' checksum over rows; earlier Sparks have none
     */
    PlannedStatus(MapStatus truth, MapStatus planned, long checksum) {
        this.truth = truth;
        this.planned = planned;
        this.checksum = checksum;
    }

    @Override
    public BlockManagerId location() {
        return truth.location();
    }

    @Override
    public void updateLocation(BlockManagerId location) {
        truth.updateLocation(location);
        planned.updateLocation(location);
    }

    @Override
    public long getSizeForBlock(int partition) {
        return planned.getSizeForBlock(partition);
    }

    @Override
    public long mapId() {
        return truth.mapId();
    }

    /** Not an override before Spark 4.1. */
    public long checksumValue() {
        return checksum;
    }

    /** From the driver to executors only the truth travels. */
    private Object writeReplace() {
        return arrived ? truth : this;
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        arrived = true;
    }

    @Override
    public void write(Kryo kryo, Output output) {
        kryo.writeClassAndObject(output, truth);
        kryo.writeClassAndObject(output, planned);
        output.writeLong(checksum);
    }

    @Override
    public void read(Kryo kryo, Input input) {
        truth = (MapStatus) kryo.readClassAndObject(input);
        planned = (MapStatus) kryo.readClassAndObject(input);
        checksum = input.readLong();
        arrived = true;
    }
}
