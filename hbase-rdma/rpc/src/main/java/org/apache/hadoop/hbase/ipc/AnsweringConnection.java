// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.netty.VbnEventLoop;

/** A connection by the core: the handler that has an answer sends it, unless another thread drives the event loop. */
final class AnsweringConnection extends NettyServerRpcConnection {
    AnsweringConnection(NettyRpcServer server, VbnChannel channel) {
        super(server, channel);
    }

    @Override
    protected void doRespond(RpcResponse response) {
        VbnEventLoop loop = (VbnEventLoop) channel.eventLoop();
        if (!loop.enter()) {
            super.doRespond(response);
            return;
        }
        try {
            super.doRespond(response);
        } finally {
            loop.leave();
        }
    }
}
