// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

/** What only classes of HBase's package see of a call. */
public final class CallLoop {
    private CallLoop() {
    }

    /**
     * Returns the event loop that has received a call, whichever thread drives it now.
     *
     * @param call the call
     * @return the loop, to tell loops apart; the calling thread where a call has none
     */
    public static Object of(RpcCall call) {
        return call instanceof ServerCall<?> known && known.connection instanceof NettyServerRpcConnection connection
            ? connection.channel.eventLoop() : Thread.currentThread();
    }
}
