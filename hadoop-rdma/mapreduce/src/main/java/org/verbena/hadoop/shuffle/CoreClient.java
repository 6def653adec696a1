// SPDX-License-Identifier: Apache-2.0
// A reducer's side of the core: its context, its engine, what is under way.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import javax.crypto.SecretKey;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.Message;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.FailedStart;
import org.verbena.core.plugin.JobKeys;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.core.plugin.PluginLog;

/** Opened when the first node's address is known, because that tells which of this host's addresses to use. Thread safe. */
final class CoreClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CoreClient.class);

    private final ShuffleConf conf;
    private final byte[] key;
    private final Map<Long, Exchange> pending = new ConcurrentHashMap<>();
    private final AtomicLong nextId = new AtomicLong(1);
    private final FailedStart start = new FailedStart();
    private VbnContext context;
    private VbnEngine engine;
    private boolean closed;

    /** @param secret the job's shuffle secret */
    CoreClient(ShuffleConf conf, SecretKey secret) throws IOException {
        this.conf = conf;
        try {
            key = JobKeys.derive(secret.getEncoded(), JobServers.KEY_LABEL);
        } catch (GeneralSecurityException e) {
            throw new IOException(e.toString(), e);
        }
    }

    private synchronized VbnEngine engine(String host, int port) throws IOException {
        if (closed) {
            throw new IOException("the reducer has all it needs");
        }
        start.check();
        if (engine == null) {
            try {
                open(host, port);
            } catch (IOException e) {
                throw start.failed(e);
            }
        }
        return engine;
    }

    private void open(String host, int port) throws IOException {
        VbnConfig config = new VbnConfig().jobKey(key).log(new PluginLog(LOG::error, LOG::warn, LOG::info, LOG::debug));
        config.set("tl.tcp.interface", LocalAddress.towards(new InetSocketAddress(host, port)).getHostAddress());
        config.set("security.same_user", "false");
        conf.coreSettings().forEach(config::set);
        VbnContext opened = VbnContext.open(config);
        try {
            engine = opened.startEngine("verbena-fetch");
        } catch (VbnException e) {
            opened.close();
            throw e;
        }
        context = opened;
        engine.onMessage(Wire.SIZES, message -> receive(message, this::sizes));
        engine.onMessage(Wire.DATA, message -> receive(message, this::data));
        engine.onMessage(Wire.FAILED, message -> receive(message, this::failed));
    }

    /** Told of the end of a connection. */
    @FunctionalInterface
    interface Ended {
        /** unused: nobody waited for anything that was to come by it. */
        void ended(VbnPeer peer, VbnException cause, boolean unused);
    }

    /**
     * Connects in the background; what is sent meanwhile waits.
     *
     * @param address of the job's engine on a node
     * @param ended told when it is lost, before those who wait are
     */
    VbnPeer connect(String host, int port, byte[] address, Ended ended) throws IOException {
        return engine(host, port).connect(address, (peer, cause) -> {
            List<Exchange> cut = pending.values().stream().filter(exchange -> exchange.peer() == peer).toList();
            ended.ended(peer, cause, cut.isEmpty());
            cut.forEach(exchange -> exchange.fail(cause));
        });
    }

    /** Sends a request; the exchange has to be ended. */
    Exchange send(VbnPeer peer, int message, int reduce, List<Wire.Range> ranges, ByteBuffer into) throws IOException {
        VbnEngine open;
        synchronized (this) {
            open = engine;
            if (closed || open == null) {
                throw new IOException("the reducer has all it needs");
            }
        }
        Exchange exchange = new Exchange(nextId.getAndIncrement(), peer, into);
        pending.put(exchange.id(), exchange);
        int flags = message == Wire.LOOKUP && !ranges.isEmpty() ? Wire.PLACES : 0;
        open.send(peer, message, Wire.header(reduce, exchange.id(), flags), new ByteBuffer[] {Wire.ranges(ranges)},
            (error, length) -> {
                if (error != null) {
                    exchange.fail(error);
                }
            });
        return exchange;
    }

    /** True when the reducer has all it needs. */
    synchronized boolean isClosed() {
        return closed;
    }

    /** Nobody waits for it any more; late messages for it are dropped. */
    void end(Exchange exchange) {
        exchange.fail(new IOException("given up"));
        pending.remove(exchange.id());
    }

    /** What takes one kind of message. */
    private interface Handler {
        void handle(Message message, Wire.Header header, Exchange exchange);
    }

    /** Engine thread. */
    private void receive(Message message, Handler handler) {
        try {
            Wire.Header header = Wire.header(message.header());
            Exchange exchange = pending.get(header.request());
            if (exchange == null || exchange.peer().uid() != message.peer().uid()) {
                drop(message); // late, or nonsense
            } else {
                handler.handle(message, header, exchange);
            }
        } catch (VbnException e) {
            drop(message);
            LOG.warn("{} from {}", e.getMessage(), message.peer());
        }
    }

    /** The answer to a LOOKUP. */
    private void sizes(Message message, Wire.Header header, Exchange exchange) {
        if (exchange.isLoad() || message.length() > Wire.MAX_REQUEST_BYTES) {
            drop(message);
            exchange.fail(new IOException("an answer that was not asked for"));
        } else if (message.remote() == null) {
            exchange.answer(message.data());
        } else {
            ByteBuffer list = ByteBuffer.allocateDirect((int) message.length());
            engine.pull(message.remote(), list, (error, length) -> {
                if (error != null) {
                    exchange.fail(error);
                } else {
                    exchange.answer(list);
                }
            });
        }
    }

    private void failed(Message message, Wire.Header header, Exchange exchange) {
        String cause = message.data() == null ? "no cause" : Wire.cause(message.data());
        drop(message);
        exchange.failRange(header.number(), new IOException(cause));
    }

    private void data(Message message, Wire.Header header, Exchange exchange) {
        if (message.remote() == null) {
            copy(message.data(), header, exchange);
        } else {
            pull(message, header, exchange);
        }
    }

    private void drop(Message message) {
        if (message.remote() != null) {
            engine.drop(message.remote());
        }
    }

    private void copy(ByteBuffer data, Wire.Header header, Exchange exchange) {
        int length = data.remaining();
        ByteBuffer room = exchange.room(header.offset(), length);
        if (room == null) {
            exchange.fail(new IOException("a piece that was not asked for: " + length + " bytes at " + header.offset()));
        } else {
            room.put(data);
            exchange.landed(header.offset() + length);
        }
    }

    private void pull(Message message, Wire.Header header, Exchange exchange) {
        long end = header.offset() + message.length();
        ByteBuffer room = exchange.room(header.offset(), message.length());
        if (room == null) {
            engine.drop(message.remote());
            exchange.fail(new IOException("a piece that was not asked for: " + message.length() + " bytes at " + header.offset()));
            return;
        }
        engine.pull(message.remote(), room, (error, length) -> {
            if (error != null) {
                exchange.fail(error);
            } else {
                exchange.landed(end);
            }
        });
    }

    /** Ends engine and context; what is under way fails. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        pending.values().forEach(exchange -> exchange.fail(new IOException("the reducer is closing")));
        if (engine != null) {
            engine.close();
        }
        if (context != null) {
            context.close();
        }
    }
}
