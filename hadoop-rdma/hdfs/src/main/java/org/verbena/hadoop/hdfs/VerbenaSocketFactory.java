// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.security.GeneralSecurityException;
import java.util.Objects;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.net.StandardSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.settings.HdfsConf;

/**
 * Makes the sockets of HDFS clients, by {@code hadoop.rpc.socket.factory.class.ClientProtocol} in core-site.xml. A wrong
 * setting is an exception at the client; without a key its sockets are Hadoop's, with one line in the log.
 */
public final class VerbenaSocketFactory extends SocketFactory implements Configurable {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaSocketFactory.class);

    private final SocketFactory stock = new StandardSocketFactory();
    private Configuration conf;
    private CoreNode node;

    /** Hadoop makes it by reflection and then gives it its configuration. */
    public VerbenaSocketFactory() {
    }

    /** {@inheritDoc} */
    @Override
    public void setConf(Configuration conf) {
        this.conf = conf;
        HdfsConf settings = HdfsConf.of(conf);
        if (!settings.enabled()) {
            return;
        }
        try {
            settings.coreConfig();
            node = CoreNode.of(settings);
        } catch (IOException | GeneralSecurityException e) {
            LOG.warn("Verbena stands aside, HDFS data goes by TCP: {}", e.getMessage());
        }
    }

    @Override
    public Configuration getConf() {
        return conf;
    }

    @Override
    public Socket createSocket() throws IOException {
        return node == null ? stock.createSocket() : new ChoosingSocket(node.dataNodes());
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return connected(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return connected(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
        return connected(new InetSocketAddress(host, port), new InetSocketAddress(local, localPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) throws IOException {
        return connected(new InetSocketAddress(host, port), new InetSocketAddress(local, localPort));
    }

    private Socket connected(SocketAddress to, SocketAddress from) throws IOException {
        Socket socket = createSocket();
        try {
            if (from != null) {
                socket.bind(from);
            }
            socket.connect(to);
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    /** Hadoop keeps connections by factory: those with the same engine are the same. */
    @Override
    public boolean equals(Object other) {
        return other instanceof VerbenaSocketFactory factory && factory.node == node;
    }

    @Override
    public int hashCode() {
        return Objects.hashCode(node);
    }
}
