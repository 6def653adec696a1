// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.net.ProtocolException;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import org.verbena.memcached.config.ClientConfig;
import org.verbena.memcached.wire.Hello;

/**
 * One attempt to reach a server: its name, its addresses in turn, then what the other side is. It ends with
 * {@link Server#connected}, {@link Server#failed} or {@link Server#retry}. The loop's thread.
 */
final class Attempt implements Link.User, Join.Listener {
    private static final String LOGIN = "CLIENT_ERROR unauthenticated";
    private static final long MS = 1_000_000;
    /** A server without messages is not asked again so soon. */
    private static final long PLAIN = 600_000 * MS;
    /** Connections that may end before the hello is answered. */
    private static final int HELLO_TRIES = 2;
    private static final byte[] ASK_META = "mn\r\n".getBytes(StandardCharsets.US_ASCII);

    /** What is known of a server from earlier attempts. */
    static final class Memory {
        private Lookup lookup;
        /** No hello before, a time of {@link Loop#now}: the server speaks memcached only. */
        private long plainUntil;
        private int helloClosed;
        private String plain = "";
    }

    private enum Step { RESOLVE, CONNECT, HELLO, JOIN }

    private final Server server;
    private final Loop loop;
    private final Join join;
    private final Memory memory;
    private final long limit;
    private Step step = Step.RESOLVE;
    private long since = Loop.now();
    private final ArrayDeque<SocketAddress> addresses = new ArrayDeque<>();
    private int addressCount;
    private long shareEnds;
    private Link link;
    private boolean helloAsked;
    private Hello hello;
    private MessageCarrier joining;
    private String noMessages;
    private boolean over;

    Attempt(Server server, Loop loop, Join join) {
        this.server = server;
        this.loop = loop;
        this.join = join;
        memory = server.memory;
        limit = server.config.connectMs() * MS;
    }

    void start() {
        loop.remind(since + limit);
        if (memory.lookup == null || memory.lookup.isAnswered()) {
            memory.lookup = new Lookup(loop, server.address);
        }
        memory.lookup.tell(this::resolved);
    }

    /** Ends it; the server is told nothing. */
    void end() {
        over = true;
        if (link != null) {
            link.close();
        }
        if (joining != null) {
            joining.end(server.dead());
        }
    }

    private void fail(String why) {
        if (!over) {
            end();
            server.failed(why);
        }
    }

    /** Time limits. */
    void check(long now) {
        if (step == Step.CONNECT && now >= shareEnds) {
            next("no answer within its share of connect=");
        } else if (step == Step.JOIN && now - since >= limit) {
            failed(joining, "the core did not connect within the time of connect=");
        } else if (now - since >= limit) {
            fail(step == Step.RESOLVE ? "cannot resolve '" + server.address.host() + "': no answer within the time of connect="
                : "no answer within the time of connect=");
        }
        if (!over) {
            loop.remind(step == Step.CONNECT ? Math.min(shareEnds, since + limit) : since + limit);
        }
    }

    private void enter(Step next) {
        step = next;
        since = Loop.now();
        loop.remind(since + limit);
    }

    // ------------------------------------------------------------------------------------------ dialling

    private void resolved(List<SocketAddress> found, String error) {
        if (over || step != Step.RESOLVE) {
            return;
        }
        if (error != null) {
            fail(error);
            return;
        }
        long start = since; // the time for the name is part of that for connecting
        enter(Step.CONNECT);
        since = start;
        addresses.addAll(found);
        addressCount = found.size();
        next(null);
    }

    /** Goes on with the next address, as the last one has failed. */
    private void next(String error) {
        if (link != null) {
            link.close();
            link = null;
        }
        String why = error;
        while (!over && link == null) {
            SocketAddress address = addresses.poll();
            if (address == null) {
                fail(addressCount > 1 ? "cannot connect to any of " + addressCount + " addresses, the last one: " + why
                    : "cannot connect: " + why);
                return;
            }
            long now = Loop.now();
            shareEnds = now + Math.max(0, since + limit - now) / (addresses.size() + 1);
            loop.remind(shareEnds);
            try {
                link = Link.open(loop, address, this);
            } catch (IOException e) {
                why = e.getMessage();
            }
        }
    }

    @Override
    public void connected() {
        enter(Step.HELLO);
        boolean sockets = server.config.carrier() == ClientConfig.Carrier.SOCKETS;
        noMessages = sockets ? "carrier=sockets" : memory.plain;
        helloAsked = !sockets && Loop.now() >= memory.plainUntil;
        try {
            if (helloAsked) {
                String line = Hello.line(KeyPlace.userId(), (int) ProcessHandle.current().pid());
                link.write(line.getBytes(StandardCharsets.US_ASCII));
            }
            link.write(ASK_META);
        } catch (IOException e) {
            fail("the user of this process is not known: " + e.getMessage());
        }
    }

    // ------------------------------------------------------------------------------------ the other side

    @Override
    public void received() throws ProtocolException {
        String line = link.line();
        if (helloAsked && line != null && !line.equals(LOGIN)) {
            takeHello(line);
            line = link.line();
        }
        if (line == null || over) {
            return;
        }
        if (line.equals(LOGIN)) {
            fail("the server asks for a login (-Y), which this library does not have");
            return;
        }
        if (!line.equals("MN")) {
            fail("the server knows no meta commands: memcached 1.6 or later is needed");
            return;
        }
        if (hello == null) {
            useSocket();
            return;
        }
        enter(Step.JOIN);
        join.start(hello, this);
    }

    private void takeHello(String line) {
        helloAsked = false;
        memory.helloClosed = 0;
        if (line.startsWith(Hello.WORD)) {
            try {
                hello = Hello.parse(line);
            } catch (ProtocolException e) {
                remember(e.getMessage());
            }
            return;
        }
        remember(line.startsWith(Hello.REFUSAL) ? "the server has no messages: " + line.substring(Hello.REFUSAL.length())
            : "the server is not verbena-memcached");
    }

    /** There are no messages for a while. */
    private void remember(String why) {
        memory.plainUntil = Loop.now() + PLAIN;
        memory.plain = why;
        noMessages = why;
    }

    @Override
    public void connecting(MessageCarrier carrier) {
        if (over || step != Step.JOIN) {
            carrier.end(server.dead());
        } else {
            joining = carrier;
        }
    }

    @Override
    public void joined(MessageCarrier carrier) {
        if (over || carrier != joining) {
            return;
        }
        over = true;
        link.setUser(new Watch(server, carrier));
        carrier.watch(link);
        server.connected(carrier);
    }

    @Override
    public void failed(MessageCarrier carrier, String why) {
        if (over) {
            server.broke(carrier, why);
            return;
        }
        if (step != Step.JOIN || carrier != joining) {
            return;
        }
        joining = null;
        noMessages = why;
        if (carrier != null) { // a key may be there at the next attempt, but a connection costs its time
            carrier.end(server.dead());
            remember("the core cannot connect: " + why);
        }
        useSocket();
    }

    /** The socket of a client that uses messages: its end is the server's. */
    private record Watch(Server server, MessageCarrier carrier) implements Link.User {
        @Override
        public void connected() {
            throw new IllegalStateException("it is connected");
        }

        @Override
        public void received() throws ProtocolException {
            throw new ProtocolException("the server has sent an answer without a request");
        }

        @Override
        public void ended(String why) {
            server.broke(carrier, why);
        }
    }

    private void useSocket() {
        if (server.config.carrier() == ClientConfig.Carrier.MESSAGES) {
            fail("no messages, and carrier=messages: " + noMessages);
            return;
        }
        over = true;
        server.connected(new SocketCarrier(server, loop, link, noMessages));
    }

    @Override
    public void ended(String why) {
        if (over) {
            return;
        }
        if (step == Step.CONNECT) {
            next(why);
        } else if (helloAsked) {
            closedAtHello();
        } else {
            fail(why);
        }
    }

    /** Some servers close instead of answering what they do not know; a server that is ending closes, too. Who does it twice in a
     * row is of the first kind. */
    private void closedAtHello() {
        end();
        if (++memory.helloClosed >= HELLO_TRIES) {
            memory.helloClosed = 0;
            remember("the server is not verbena-memcached");
        }
        server.retry("the server has closed the connection instead of answering the hello");
    }
}
