// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import org.verbena.core.Message;
import org.verbena.core.RemoteData;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.wire.Answer;
import org.verbena.memcached.wire.MessageAnswer;
import org.verbena.memcached.wire.MessageRequest;
import org.verbena.memcached.wire.Request;

/**
 * Calls as messages of the core. What is not said to be for another thread belongs to the engine's. When the connection ends, calls
 * that were sent fail, and those that wait use the next one.
 */
final class MessageCarrier implements Carrier {
    /** Calls whose answers are outstanding; others wait here. */
    private static final int FLYING_MAX = 256;

    /** Told the first answer. */
    interface Knocked {
        /** reads: whether the client may read the server's memory; pageKey: empty if not. */
        void answered(long reads, byte[] pageKey);
    }

    private final Server server;
    private final Loop loop;
    private final Net net;
    private final BoundedPool values;
    private final Set<Call> flying = new LinkedHashSet<>();
    private final Set<Call> announced = new LinkedHashSet<>();
    private final ArrayDeque<Call> queue = new ArrayDeque<>();
    private final ByteBuffer header = ByteBuffer.allocate(MessageRequest.HEAD + MessageRequest.KEY_INLINE);
    private volatile VbnPeer peer;
    /** Of the loop's thread. */
    private Link link;
    private boolean ended;
    private volatile OneSided onesided;
    private volatile long heard = Loop.now();
    private volatile String why = "";

    MessageCarrier(Server server, Loop loop, Net net, BoundedPool values) {
        this.server = server;
        this.loop = loop;
        this.net = net;
        this.values = values;
    }

    /**
     * Connects to a worker, and asks for an answer. Until it has come nothing of the user's is sent, so a server that cannot be
     * reached costs no call. Any thread but the engine's and the loop's.
     *
     * @param lost told on the engine's thread that the connection has ended
     */
    void connect(byte[] address, Runnable lost, Knocked knocked) throws VbnException {
        VbnPeer to = net.engine().connect(address, (which, cause) -> {
            why = cause.text();
            lost.run();
        });
        Call knock = new Call(Request.noop(), server, Loop.NEVER, null, bytes -> { }, null);
        inEngine(() -> {
            peer = to;
            if (ended) {
                to.close();
                return;
            }
            knock.knocked = knocked;
            send(knock);
        });
    }

    /** Why the connection has ended, or what the server said at its beginning. Any thread. */
    String why() {
        return why;
    }

    void setWhy(String text) {
        why = text;
    }

    /** The server lets this client read, with the key of its page. The engine's thread. */
    void read(byte[] pageKey) {
        onesided = new OneSided(net.engine(), peer, pageKey);
    }

    /** Null: nothing is read one-sided. Any thread. */
    OneSided onesided() {
        return onesided;
    }

    /** The socket that goes with it. The loop's thread. */
    void watch(Link socket) {
        link = socket;
    }

    boolean isOf(VbnPeer which) {
        return which == peer;
    }

    @Override
    public long heard() {
        return heard;
    }

    @Override
    public String describe() {
        VbnPeer to = peer;
        OneSided reads = onesided;
        String gets = reads != null && reads.reads() ? "one-sided gets, else " : "";
        return gets + "messages through the core (" + why + ")" + (to == null ? "" : "; " + to.explain());
    }

    // ----------------------------------------------------------------------------------------- sending

    @Override
    public void start(Call call) {
        try {
            net.engine().execute(() -> {
                queue.add(call);
                pump();
            });
        } catch (RejectedExecutionException e) { // the engine has failed, or is flooded
            loop.execute(() -> server.broke(this, "the core: " + e.getMessage()));
            server.again(call);
        }
    }

    private void pump() {
        while (!queue.isEmpty() && flying.size() < FLYING_MAX) {
            Call call = queue.peek();
            if (ended) {
                server.again(queue.poll());
            } else if (call.isOver()) {
                queue.poll().releaseValue();
                server.leave(call);
            } else if (maySend(call.request)) {
                send(queue.poll());
            } else {
                return;
            }
        }
    }

    /** A value that the server fetches is stored later than requests behind it would be carried out. */
    private boolean maySend(Request request) {
        for (Call other : announced) {
            if (request.kind() == Request.Kind.LIST || Arrays.equals(other.request.key(), request.key())) {
                return false;
            }
        }
        return true;
    }

    private void send(Call call) {
        ByteBuffer data = data(call.request);
        if (data == null && MessageRequest.dataBytes(call.request) > 0) {
            call.releaseValue();
            server.leave(call);
            call.fail(new MemcachedException(Kind.BUSY, server.address + ": no memory for the keys of a request"));
            return;
        }
        ByteBuffer value = call.value();
        List<ByteBuffer> parts = new ArrayList<>(2);
        if (data != null) {
            parts.add(data);
        }
        if (value != null) {
            parts.add(value);
            call.announced = announced.add(call);
        }
        net.add(call);
        call.carrier = this;
        call.sentAt = Loop.now();
        flying.add(call);
        MessageRequest.write(call.request, call.number, header);
        net.engine().send(peer, MessageRequest.REQUEST, header, parts.toArray(ByteBuffer[]::new), (error, length) -> {
            if (data != null) {
                values.give(data);
            }
            call.releaseValue();
            if (call.announced) {
                announced.remove(call);
                pump();
            }
        });
    }

    /** Keys that are not in the header; null: there are none, or there is no memory. */
    private ByteBuffer data(Request request) {
        int bytes = MessageRequest.dataBytes(request);
        ByteBuffer data = bytes == 0 ? null : values.tryTake(bytes);
        if (data != null) {
            MessageRequest.writeData(request, data);
        }
        return data;
    }

    // --------------------------------------------------------------------------------------- receiving

    /** An answer with the number of a call of this connection. */
    void take(Call call, Answer answer, Message message) {
        heard = Loop.now();
        boolean values = answer.status() == Answer.Status.OK && call.request.kind() != Request.Kind.NOOP && message.length() > 0;
        if (call.pulling) {
            drop(message.remote()); // a second answer
        } else if (call.knocked != null) {
            drop(message.remote());
            finish(call, answer);
            byte[] key = message.data() == null ? new byte[0] : Bulk.copy(message.data());
            call.knocked.answered(answer.number(), key);
        } else if (values && message.remote() != null && !call.isOver()) {
            pull(call, answer, message.remote());
        } else {
            drop(message.remote());
            if (answer.status() == Answer.Status.OK && message.data() != null) {
                deliver(call, answer, message.data());
            }
            finish(call, answer);
        }
    }

    private void drop(RemoteData remote) {
        if (remote != null) {
            net.engine().drop(remote);
        }
    }

    private void deliver(Call call, Answer answer, ByteBuffer data) {
        switch (call.request.kind()) {
            case GET, GET_AND_TOUCH -> call.deliver(0, data, answer.flags(), answer.cas());
            case LIST -> {
                try {
                    MessageAnswer.entries(data, Math.min(answer.number(), call.request.keys().size()), call::deliver);
                } catch (ProtocolException e) {
                    call.fail(new MemcachedException(Kind.PROTOCOL, server.address + ": " + e.getMessage()));
                }
            }
            default -> { }
        }
    }

    /** Fetches a large value into memory of the client's, as the caller may take back its own at any time. */
    private void pull(Call call, Answer answer, RemoteData remote) {
        int length = remote.length() > values.bound() ? -1 : (int) remote.length();
        ByteBuffer ready = length < 0 ? null : values.ready(length);
        call.pulling = true;
        if (ready != null) {
            pull(call, answer, remote, ready);
        } else {
            loop.execute(() -> { // new memory may take a while
                ByteBuffer fresh = length < 0 ? null : values.tryTake(length);
                if (fresh != null) {
                    pull(call, answer, remote, fresh);
                } else {
                    refuse(call, remote);
                }
            });
        }
    }

    private void pull(Call call, Answer answer, RemoteData remote, ByteBuffer to) {
        net.engine().pull(remote, to, (error, length) -> {
            if (error == null) {
                deliver(call, answer, to);
                heard = Loop.now();
            } else {
                call.fail(new MemcachedException(Kind.SERVER_DEAD, server.address + ": " + error.text()));
            }
            values.give(to);
            finish(call, answer);
        });
    }

    /** The loop's thread. */
    private void refuse(Call call, RemoteData remote) {
        net.engine().drop(remote);
        call.fail(new MemcachedException(Kind.BUSY, server.address + ": no memory for a value of " + remote.length()
            + " bytes: at most " + values.bound() + " bytes of values may be on their way; get fewer at once, or raise "
            + "-XX:MaxDirectMemorySize"));
        inEngine(() -> finish(call, Answer.of(Answer.Status.OK)));
    }

    private void finish(Call call, Answer answer) {
        if (net.remove(call)) {
            flying.remove(call);
            server.leave(call);
            call.answer(answer);
            pump();
        }
    }

    // -------------------------------------------------------------------------------------------- ends

    private void inEngine(Runnable task) {
        try {
            net.engine().execute(task);
        } catch (RejectedExecutionException e) { // it is closed: nobody else drives it
            task.run();
        }
    }

    @Override
    public void end(MemcachedException cause) {
        if (link != null) {
            link.close();
        }
        inEngine(() -> {
            ended = true;
            if (onesided != null) {
                onesided.close();
            }
            for (Call call : new ArrayList<>(flying)) {
                net.remove(call);
                flying.remove(call);
                server.leave(call);
                call.fail(cause);
            }
            pump();
            if (peer != null) {
                peer.close();
            }
        });
    }
}
