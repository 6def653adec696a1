// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;
import org.verbena.hadoop.rpc.node.CoreNode;

/** The key under which Hadoop keeps a client of ours; its sockets, for calls by TCP, are those of the factory that was set. */
final class CoreSocketFactory extends SocketFactory {
    private final SocketFactory stock;
    private final CoreNode node;

    CoreSocketFactory(SocketFactory stock, CoreNode node) {
        this.stock = stock;
        this.node = node;
    }

    @Override
    public Socket createSocket() throws IOException {
        return stock.createSocket();
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return stock.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return stock.createSocket(host, port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
        return stock.createSocket(host, port, local, localPort);
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) throws IOException {
        return stock.createSocket(host, port, local, localPort);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof CoreSocketFactory factory && factory.node == node && factory.stock.equals(stock);
    }

    @Override
    public int hashCode() {
        return 31 * stock.hashCode() + 1;
    }
}
