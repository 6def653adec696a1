// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.config;

/**
 * One server of the configuration. Immutable.
 *
 * @param host a name or an address, or the path of a Unix socket
 * @param port 0: a path
 * @param weight its share of the keys, in relation to the other servers
 */
public record ServerAddress(String host, int port, int weight) {
    /** Port of memcached, which the places of keys leave out. */
    static final int USUAL_PORT = 11211;

    /** True when it is a Unix socket. */
    public boolean isPath() {
        return port == 0;
    }

    @Override
    public String toString() {
        return isPath() ? host : (host.indexOf(':') < 0 ? host : '[' + host + ']') + ':' + port;
    }
}
