// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import org.verbena.memcached.wire.Answer;
import org.verbena.memcached.wire.MetaLine;
import org.verbena.memcached.wire.MetaRequest;
import org.verbena.memcached.wire.Request;

/**
 * Calls as meta commands on a socket. Answers come in the order of requests, each with the number of its request; one with another
 * number ends the connection, as nothing that follows could be trusted. The loop's thread, but for {@link #start}.
 */
final class SocketCarrier implements Carrier, Link.User {
    private final Server server;
    private final Loop loop;
    private final Link link;
    private final String why;
    private final ArrayDeque<Call> flying = new ArrayDeque<>();
    private int numbers;
    /** The line whose value has not come yet; null: none. */
    private MetaLine line;
    /** An error of one key of the list at the front. */
    private Answer listError;
    private boolean ended;

    /** why: why there are no messages. */
    SocketCarrier(Server server, Loop loop, Link link, String why) {
        this.server = server;
        this.loop = loop;
        this.link = link;
        this.why = why;
        link.setUser(this);
    }

    @Override
    public void start(Call call) {
        loop.execute(() -> send(call));
    }

    @Override
    public long heard() {
        return link.heard();
    }

    @Override
    public String describe() {
        return (server.address.isPath() ? "Unix" : "TCP") + " socket; no messages: " + why;
    }

    private void send(Call call) {
        if (call.isOver()) {
            call.releaseValue();
            server.leave(call);
            return;
        }
        if (ended) {
            server.again(call);
            return;
        }
        ByteBuffer value = call.value();
        call.number = numbers++ & Integer.MAX_VALUE;
        call.sentAt = Loop.now();
        flying.add(call);
        link.write(MetaRequest.write(call.request, call.number, value == null ? 0 : value.remaining()));
        if (value != null) {
            link.writeValue(call, value);
        } else if (call.request.kind() == Request.Kind.PUT) {
            link.write(new byte[] {'\r', '\n'});
        }
    }

    @Override
    public void connected() {
        throw new IllegalStateException("it is connected");
    }

    @Override
    public void received() throws ProtocolException {
        while (!ended && takeAnswer()) {
            server.counters.sockets.increment();
        }
    }

    /** Takes a line and its value; false: more has to come. */
    private boolean takeAnswer() throws ProtocolException {
        if (line == null) {
            String text = link.line();
            if (text == null) {
                return false;
            }
            if (flying.isEmpty()) {
                throw new ProtocolException("the server has sent an answer without a request");
            }
            Answer error = MetaLine.error(text);
            if (error != null) {
                takeError(error);
                return true;
            }
            line = MetaLine.parse(text);
            check(flying.peek().request, line);
        }
        ByteBuffer value = null;
        if (line.valueBytes() >= 0) {
            value = link.value(line.valueBytes());
            if (value == null) {
                return false;
            }
        }
        MetaLine whole = line;
        line = null;
        take(flying.peek(), whole, value);
        return true;
    }

    /** A list goes on after the error of a key: its noop still comes. */
    private void takeError(Answer error) {
        if (flying.peek().request.kind() == Request.Kind.LIST) {
            listError = error;
        } else {
            finish(error);
        }
    }

    private void check(Request request, MetaLine answer) throws ProtocolException {
        boolean list = request.kind() == Request.Kind.LIST;
        boolean right = list ? answer.code().equals("MN")
            || answer.valueBytes() >= 0 && answer.number() >= 0 && answer.number() < request.keys().size()
            : answer.number() == flying.peek().number;
        if (!right) {
            throw new ProtocolException("the server has answered another request than the oldest one");
        }
    }

    private void take(Call call, MetaLine whole, ByteBuffer value) throws ProtocolException {
        Request.Kind kind = call.request.kind();
        if (kind == Request.Kind.LIST && value != null) {
            call.deliver((int) whole.number(), value, whole.flags(), whole.cas());
        } else if (kind == Request.Kind.LIST) {
            Answer error = listError;
            listError = null;
            finish(error != null ? error : new Answer(Answer.Status.OK, 0, 0, call.request.keys().size(), ""));
        } else if (value != null && (kind == Request.Kind.INCREMENT || kind == Request.Kind.DECREMENT)) {
            finish(new Answer(Answer.Status.OK, 0, 0, number(value), ""));
        } else {
            Answer.Status status = whole.status(kind);
            if (value != null) {
                call.deliver(0, value, whole.flags(), whole.cas());
            }
            finish(new Answer(status, whole.flags(), whole.cas(), 0, ""));
        }
    }

    private static long number(ByteBuffer value) throws ProtocolException {
        String text = StandardCharsets.ISO_8859_1.decode(value).toString().strip();
        try {
            return Long.parseUnsignedLong(text);
        } catch (NumberFormatException e) {
            throw new ProtocolException("the server has answered arithmetic with no number");
        }
    }

    private void finish(Answer answer) {
        Call call = flying.poll();
        server.leave(call);
        call.answer(answer);
    }

    @Override
    public void ended(String cause) {
        server.broke(this, cause);
    }

    @Override
    public void end(MemcachedException cause) {
        ended = true;
        link.close();
        for (Call call = flying.poll(); call != null; call = flying.poll()) {
            call.releaseValue();
            server.leave(call);
            call.fail(cause);
        }
    }
}
