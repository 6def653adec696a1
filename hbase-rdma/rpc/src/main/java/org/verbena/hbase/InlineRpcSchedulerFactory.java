// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Abortable;
import org.apache.hadoop.hbase.ipc.PriorityFunction;
import org.apache.hadoop.hbase.ipc.RpcScheduler;
import org.apache.hadoop.hbase.regionserver.HRegionServer;
import org.apache.hadoop.hbase.regionserver.RpcSchedulerFactory;
import org.apache.hadoop.hbase.regionserver.SimpleRpcSchedulerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hbase.node.CoreNode;
import org.verbena.hbase.node.HBaseConf;

/**
 * Makes HBase's own scheduler, before which short reads run on the event loop that has received them, by
 * {@code hbase.region.server.rpc.scheduler.factory.class}. Works for calls by TCP, too.
 */
public final class InlineRpcSchedulerFactory implements RpcSchedulerFactory {
    private static final Logger LOG = LoggerFactory.getLogger(InlineRpcSchedulerFactory.class);

    private final SimpleRpcSchedulerFactory stock = new SimpleRpcSchedulerFactory();

    /** HBase makes it by reflection. */
    public InlineRpcSchedulerFactory() {
        // nothing to set
    }

    @Override
    @Deprecated
    public RpcScheduler create(Configuration conf, PriorityFunction priority) {
        return create(conf, priority, null);
    }

    @Override
    public RpcScheduler create(Configuration conf, PriorityFunction priority, Abortable server) {
        RpcScheduler scheduler = stock.create(conf, priority, server);
        HBaseConf settings = HBaseConf.of(conf);
        if (!settings.enabled() || !(server instanceof HRegionServer regions)) {
            return scheduler;
        }
        LOG.info("Verbena: short reads run on the event loops, while they take less than {} us", settings.inlineMicros());
        return new InlineRpcScheduler(scheduler, priority, regions, settings.inlineMicros() * 1000L,
            CoreNode.of(settings)::countInlined);
    }
}
