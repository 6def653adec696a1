// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;

/**
 * The private parts of Hadoop's RPC that a stream needs beside a socket. They are looked up when the first client or server is
 * made: a Hadoop without one of them runs as stock, and one line names the missing part.
 */
final class Internals {
    /** Why there are none; null when all are there. */
    static final String MISSING;
    private static Field manager;
    private static Method register;
    private static Method close;
    private static Field queue;
    private static Field scheduler;
    private static Field caches;
    private static Field clients;
    private static Field clientId;
    private static Field connectionConf;

    static {
        String missing = null;
        try {
            manager = field(Server.class, "connectionManager");
            register = method(manager.getType(), "register", SocketChannel.class, int.class, boolean.class);
            close = method(manager.getType(), "close", Server.Connection.class);
            queue = field(CallQueueManager.class, "putRef");
            scheduler = field(CallQueueManager.class, "scheduler");
            caches = field(ProtobufRpcEngine2.class, "CLIENTS");
            clients = field(ClientCache.class, "clients");
            clientId = field(Client.class, "clientId");
            connectionConf = field(Client.ConnectionId.class, "conf");
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            missing = e.toString();
        }
        MISSING = missing;
    }

    private Internals() {
    }

    private static Field field(Class<?> owner, String name) throws NoSuchFieldException {
        Field found = owner.getDeclaredField(name);
        found.setAccessible(true);
        return found;
    }

    private static Method method(Class<?> owner, String name, Class<?>... types) throws NoSuchMethodException {
        Method found = owner.getDeclaredMethod(name, types);
        found.setAccessible(true);
        return found;
    }

    private static IllegalStateException cause(ReflectiveOperationException e) {
        return new IllegalStateException(e.getCause() == null ? e.toString() : e.getCause().toString(), e);
    }

    /** A connection of the server's, counted and closed as those by TCP; null when it has as many as it may have. */
    static Server.Connection register(Server server, SocketChannel channel, int port, boolean auxiliary) {
        try {
            return (Server.Connection) register.invoke(manager.get(server), channel, port, auxiliary);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw cause(e);
        }
    }

    static void close(Server server, Server.Connection connection) {
        try {
            close.invoke(manager.get(server), connection);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw cause(e);
        }
    }

    @SuppressWarnings("unchecked")
    static BlockingQueue<Server.Call> queue(CallQueueManager<Server.Call> calls) {
        try {
            return ((AtomicReference<BlockingQueue<Server.Call>>) queue.get(calls)).get();
        } catch (IllegalAccessException e) {
            throw cause(e);
        }
    }

    static RpcScheduler scheduler(CallQueueManager<Server.Call> calls) {
        try {
            return (RpcScheduler) scheduler.get(calls);
        } catch (IllegalAccessException e) {
            throw cause(e);
        }
    }

    /** Where Hadoop's engine keeps its clients. */
    static ClientCache cache() {
        try {
            return (ClientCache) caches.get(null);
        } catch (IllegalAccessException e) {
            throw cause(e);
        }
    }

    /** The clients in it; to be used with the cache's lock. */
    @SuppressWarnings("unchecked")
    static Map<SocketFactory, Client> clients(ClientCache cache) {
        try {
            return (Map<SocketFactory, Client>) clients.get(cache);
        } catch (IllegalAccessException e) {
            throw cause(e);
        }
    }

    static byte[] clientId(Client client) {
        try {
            return (byte[]) clientId.get(client);
        } catch (IllegalAccessException e) {
            throw cause(e);
        }
    }

    /** The configuration of a connection, which may be another one than its client's. */
    static Configuration conf(Client.ConnectionId to) {
        try {
            return (Configuration) connectionConf.get(to);
        } catch (IllegalAccessException e) {
            throw cause(e);
        }
    }
}
