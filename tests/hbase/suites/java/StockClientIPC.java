// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.codec.Codec;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

/** HBase's own tests of RPC with HBase's client against our server. */
@RunWith(Parameterized.class)
public class StockClientIPC extends AbstractTestIPC {
    @Parameters(name = "{0}")
    public static List<Object[]> parameters() {
        return List.<Object[]>of(new Object[] {VbnRpcServer.class});
    }

    @Before
    public void open() {
        CONF.set("verbena.hbase.auth", "none");
    }

    @Test
    @Override
    public void testTimeout() throws IOException {
        InTime.run(super::testTimeout);
    }

    @Test
    @Override
    public void testAsyncTimeout() throws IOException {
        InTime.run(super::testAsyncTimeout);
    }

    @Override
    protected AbstractRpcClient<?> createRpcClient(Configuration conf) {
        return new NettyRpcClient(conf);
    }

    @Override
    protected AbstractRpcClient<?> createRpcClientNoCodec(Configuration conf) {
        return new NettyRpcClient(conf) {
            @Override
            protected Codec getCodec() {
                return null;
            }
        };
    }

    @Override
    protected AbstractRpcClient<?> createRpcClientRTEDuringConnectionSetup(Configuration conf) {
        return new NettyRpcClient(conf) {
            @Override
            protected boolean isTcpNoDelay() {
                throw new RuntimeException("Injected fault");
            }
        };
    }

    @Override
    protected AbstractRpcClient<?> createBadAuthRpcClient(Configuration conf) {
        return new NettyRpcClient(conf) {
            @Override
            protected NettyRpcConnection createConnection(ConnectionId id) throws IOException {
                return new BadAuthNettyRpcConnection(this, id);
            }
        };
    }
}
