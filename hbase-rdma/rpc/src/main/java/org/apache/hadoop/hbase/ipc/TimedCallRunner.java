// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.util.function.LongConsumer;
import org.apache.hadoop.hbase.monitoring.MonitoredRPCHandler;

/** A call that a handler runs, and that tells how long that took; in all else it is the one that it was made of. */
public final class TimedCallRunner extends CallRunner {
    private final CallRunner call;
    private final LongConsumer took;

    /**
     * Makes one.
     *
     * @param call the call
     * @param took told the nanoseconds of its run, without its wait for a handler; on the handler's thread
     */
    public TimedCallRunner(CallRunner call, LongConsumer took) {
        super(null, call.getRpcCall()); // without a server it counts nothing a second time
        this.call = call;
        this.took = took;
    }

    @Override
    public RpcCall getRpcCall() {
        return call.getRpcCall();
    }

    @Override
    public void setStatus(MonitoredRPCHandler status) {
        call.setStatus(status);
    }

    @Override
    public void run() {
        long start = System.nanoTime();
        call.run();
        took.accept(System.nanoTime() - start);
    }

    @Override
    public void drop() {
        call.drop();
    }
}
