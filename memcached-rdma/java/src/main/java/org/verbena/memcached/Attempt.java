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
final class Attempt implements Link.User {
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

    private enum Step { RESOLVE, CONNECT, HELLO }

    private final Server server;
    private final Loop loop;
    private final Memory memory;
    private final long limit;
    private Step step = Step.RESOLVE;
    private long since = Loop.now();
    private final ArrayDeque<SocketAddress> addresses = new ArrayDeque<>();
    private int addressCount;
    private long shareEnds;
    private Link link;
    private boolean helloAsked;
    private String noMessages;
    private boolean over;

    Attempt(Server server, Loop loop) {
        this.server = server;
        this.loop = loop;
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
        helloAsked = false; // a hello leads to messages of the core
        noMessages = server.config.carrier() == ClientConfig.Carrier.SOCKETS ? "carrier=sockets" : memory.plain;
        link.write(ASK_META);
    }

    // ------------------------------------------------------------------------------------ the other side

    @Override
    public void received() throws ProtocolException {
        String line = link.line();
        if (helloAsked && line != null) {
            takeHello(line);
            line = link.line();
        }
        if (line == null || over) {
            return;
        }
        if (!line.equals("MN")) {
            fail("the server knows no meta commands: memcached 1.6 or later is needed");
            return;
        }
        useSocket();
    }

    private void takeHello(String line) {
        helloAsked = false;
        memory.helloClosed = 0;
        memory.plainUntil = Loop.now() + PLAIN;
        memory.plain = line.startsWith(Hello.REFUSAL) ? "the server has no messages: " + line.substring(Hello.REFUSAL.length())
            : "the server is not verbena-memcached";
        noMessages = memory.plain;
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
            memory.plainUntil = Loop.now() + PLAIN;
            memory.plain = "the server is not verbena-memcached";
        }
        server.retry("the server has closed the connection instead of answering the hello");
    }
}
