// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

import java.util.concurrent.ConcurrentMap;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.ipc.CallLoop;
import org.apache.hadoop.hbase.ipc.CallRunner;
import org.apache.hadoop.hbase.ipc.DelegatingRpcScheduler;
import org.apache.hadoop.hbase.ipc.PriorityFunction;
import org.apache.hadoop.hbase.ipc.RpcCall;
import org.apache.hadoop.hbase.ipc.RpcScheduler;
import org.apache.hadoop.hbase.ipc.TimedCallRunner;
import org.apache.hadoop.hbase.monitoring.MonitoredRPCHandler;
import org.apache.hadoop.hbase.monitoring.TaskMonitor;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HRegionServer;
import org.apache.hadoop.hbase.regionserver.RegionCoprocessorHost;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.GetRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.HBaseProtos.RegionSpecifier;
import org.apache.hbase.thirdparty.com.google.common.collect.MapMaker;

/**
 * Runs a read on the event loop when it is a Get without a filter, of normal priority, from an open region of a table without
 * coprocessors, whose reads have been short lately ({@link ReadCost}); all else goes to HBase's own scheduler. A coprocessor may
 * call back into the loop, and would wait for itself. Thread safe.
 */
final class InlineRpcScheduler extends DelegatingRpcScheduler {
    private static final int VERSIONS_MAX = 16;

    private final PriorityFunction priority;
    private final HRegionServer server;
    private final long mostNanos;
    private final Runnable counter;
    private final ConcurrentMap<HRegion, Region> regions = new MapMaker().weakKeys().makeMap();
    /** By event loop, which several threads drive in turn. */
    private final ConcurrentMap<Object, LoopBudget> budgets = new MapMaker().weakKeys().makeMap();
    private final ThreadLocal<Status> statuses = ThreadLocal.withInitial(Status::new);

    /** What is known of a region's reads, and of its coprocessors. */
    private static final class Region {
        final ReadCost cost;
        final RegionCoprocessorHost host;
        final boolean plain;

        Region(RegionCoprocessorHost host, long mostNanos) {
            this.host = host;
            plain = host == null || host.getCoprocessors().isEmpty();
            cost = new ReadCost(mostNanos);
        }
    }

    /** What HBase shows of a thread that runs calls. */
    private static final class Status {
        private MonitoredRPCHandler status;

        MonitoredRPCHandler get() {
            if (status == null) {
                status = TaskMonitor.get().createRPCStatus(Thread.currentThread().getName());
                status.pause("Waiting for a call");
            }
            return status;
        }
    }

    /**
     * Makes one.
     *
     * @param stock HBase's scheduler
     * @param mostNanos so long a region's reads may take on average
     * @param counter told of each read that ran on a loop
     */
    InlineRpcScheduler(RpcScheduler stock, PriorityFunction priority, HRegionServer server, long mostNanos, Runnable counter) {
        super(stock);
        this.priority = priority;
        this.server = server;
        this.mostNanos = mostNanos;
        this.counter = counter;
    }

    @Override
    public boolean dispatch(CallRunner task) {
        Region region = shortRead(task.getRpcCall());
        if (region == null) {
            return super.dispatch(task);
        }
        long start = System.nanoTime();
        LoopBudget budget = budgets.computeIfAbsent(CallLoop.of(task.getRpcCall()), loop -> new LoopBudget());
        if (!region.cost.admits(start) || !budget.admits(start)) {
            return super.dispatch(new TimedCallRunner(task, took -> region.cost.handled(took, System.nanoTime())));
        }
        counter.run();
        task.setStatus(statuses.get().get());
        task.run();
        long end = System.nanoTime();
        region.cost.add(end - start, end);
        budget.add(end - start);
        return true;
    }

    /** The region of a call that may run here, else null. */
    private Region shortRead(RpcCall call) {
        if (!(call.getParam() instanceof GetRequest request) || request.getGet().hasFilter()
                || request.getGet().getMaxVersions() > VERSIONS_MAX
                || request.getRegion().getType() != RegionSpecifier.RegionSpecifierType.REGION_NAME) {
            return null;
        }
        HRegion open = server.getOnlineRegion(request.getRegion().getValue().toByteArray());
        if (open == null || !open.isAvailable() || priority.getPriority(call.getHeader(), request,
                call.getRequestUser().orElse(null)) > HConstants.NORMAL_QOS) {
            return null;
        }
        Region known = regions.get(open);
        if (known == null || known.host != open.getCoprocessorHost()) {
            known = new Region(open.getCoprocessorHost(), mostNanos);
            regions.put(open, known);
        }
        return known.plain ? known : null;
    }

    // HBase's class answers 0 to these; the scheduler behind knows better.

    @Override
    public int getWriteQueueLength() {
        return delegate.getWriteQueueLength();
    }

    @Override
    public int getReadQueueLength() {
        return delegate.getReadQueueLength();
    }

    @Override
    public int getScanQueueLength() {
        return delegate.getScanQueueLength();
    }

    @Override
    public int getActiveWriteRpcHandlerCount() {
        return delegate.getActiveWriteRpcHandlerCount();
    }

    @Override
    public int getActiveReadRpcHandlerCount() {
        return delegate.getActiveReadRpcHandlerCount();
    }

    @Override
    public int getActiveScanRpcHandlerCount() {
        return delegate.getActiveScanRpcHandlerCount();
    }
}
