// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import java.net.SocketAddress;
import java.util.Arrays;

/** A service of an event loop, without TCP: what a server channel is bound to, and what a client connects to. Immutable. */
public final class VbnAddress extends SocketAddress {
    /** Services are 0 to SERVICE_MAX; to bind to 0 is to bind to one that is free. */
    public static final int SERVICE_MAX = 65535;
    private static final long serialVersionUID = 1;

    private final byte[] engine;
    private final int service;

    /**
     * Names a service of an event loop.
     *
     * @param engine the engine's address blob, as {@link #engine} gave it at the server; copied
     * @param service the service's number
     */
    public VbnAddress(byte[] engine, int service) {
        if (service < 0 || service > SERVICE_MAX) {
            throw new IllegalArgumentException("service " + service + " is not in 0.." + SERVICE_MAX);
        }
        this.engine = engine.clone();
        this.service = service;
    }

    /**
     * What a server channel binds to.
     *
     * @param service the service's number, 0: one that is free
     * @return an address without engine, which nobody can connect to
     */
    public static VbnAddress local(int service) {
        return new VbnAddress(new byte[0], service);
    }

    /** Returns the address blob of the server's engine; no secrets in it. */
    public byte[] engine() {
        return engine.clone();
    }

    /** Returns the number of the service. */
    public int service() {
        return service;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VbnAddress that && service == that.service && Arrays.equals(engine, that.engine);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(engine) + service;
    }

    @Override
    public String toString() {
        return "verbena:" + (engine.length == 0 ? "local" : Integer.toHexString(Arrays.hashCode(engine))) + ":" + service;
    }
}
