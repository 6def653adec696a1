// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

/** Stands in the place of Hadoop's injector of faults until it is closed. */
abstract class Injector extends DataNodeFaultInjector implements AutoCloseable {
    private final DataNodeFaultInjector before = DataNodeFaultInjector.get();

    Injector() {
        DataNodeFaultInjector.set(this);
    }

    @Override
    public final void close() {
        DataNodeFaultInjector.set(before);
    }
}
