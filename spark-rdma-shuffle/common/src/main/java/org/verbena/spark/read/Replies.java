// SPDX-License-Identifier: Apache-2.0
// Receives the replies to fetch requests and hands their blocks out.
package org.verbena.spark.read;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.Message;
import org.verbena.core.RemoteData;
import org.verbena.core.Stage;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.core.plugin.LastUse;
import org.verbena.spark.metrics.Traffic;

/** Small ones carry their blocks; those of larger ones are pulled into a pool's memory, in turn. Thread safe. */
final class Replies implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Replies.class);
    private static final int MAX_WAITING = 4096;

    private final VbnEngine engine;
    private final Requests requests;
    private final SparksTransport fallBack;
    private final FetchThreads threads;
    private final Traffic traffic;
    private final BoundedPool pool;
    private final String cure;
    /** Replies that wait for memory. */
    private final Stage<Waiting> room = new Stage<>("verbena-room", MAX_WAITING, this::waitForRoom,
        (reply, error) -> noRoom(reply));
    private final AtomicBoolean saidNoRoom = new AtomicBoolean();

    /** A reply whose data is with the other side. */
    private record Waiting(VbnPeer peer, RemoteData remote, FetchRequest request, Wire.Reply reply) {
        int bytes() {
            return (int) remote.length();
        }
    }

    /** Receives from now on. */
    Replies(VbnEngine engine, Requests requests, SparksTransport fallBack, FetchThreads threads, Traffic traffic,
            DirectMemory memory) {
        this.engine = engine;
        this.pool = memory.forBlocks();
        this.cure = memory.cure();
        this.requests = requests;
        this.fallBack = fallBack;
        this.threads = threads;
        this.traffic = traffic;
        engine.onMessage(Wire.REPLY, this::receive);
    }

    /** Memory of blocks that is in use now, also by tasks that have not read theirs. */
    long bytes() {
        return pool.used();
    }

    /** Engine thread. */
    private void receive(Message message) {
        try {
            Wire.Reply reply = Wire.reply(message.header());
            FetchRequest request = requests.find(reply.request());
            if (request == null || request.peerUid() != message.peer().uid()) {
                ignore(message);
            } else if (reply.count() == 0) {
                fallBack.takeOver(request,
                    new VbnException(VbnStatus.NO_MEMORY, request.link() + " has no memory for its replies now"));
            } else if (fits(reply, request, message.length())) {
                receive(message, request, reply);
            } else {
                ignore(message);
            }
        } catch (VbnException e) {
            LOG.warn("{} from {}", e.getMessage(), message.peer());
        }
    }

    private static boolean fits(Wire.Reply reply, FetchRequest request, long length) {
        return reply.count() > 0 && reply.first() >= 0 && reply.first() <= request.count() - reply.count()
            && length >= 4L * reply.count() && length <= Integer.MAX_VALUE;
    }

    /** A late reply to a request that was given up, or nonsense: either way nobody waits for it. */
    private void ignore(Message message) {
        if (message.remote() != null) {
            engine.drop(message.remote());
        }
    }

    private void receive(Message message, FetchRequest request, Wire.Reply reply) {
        VbnPeer peer = message.peer();
        RemoteData remote = message.remote();
        if (remote == null) {
            handOut(peer, request, reply, copied(message));
        } else {
            request.heard(System.nanoTime());
            request.link().pulls().add(remote.length(), () -> pull(new Waiting(peer, remote, request, reply)));
        }
    }

    /** A small message's data, which goes with the callback. */
    private ByteBuffer copied(Message message) {
        ByteBuffer ready = pool.ready((int) message.length());
        return (ready == null ? ByteBuffer.allocate((int) message.length()) : ready).put(message.data()).flip();
    }

    /** Engine thread: the reply's turn has come. */
    private void pull(Waiting waiting) {
        if (!requests.has(waiting.request())) { // given up while the reply waited
            drop(waiting);
            return;
        }
        ByteBuffer ready = pool.ready(waiting.bytes());
        if (ready != null) {
            pull(waiting, ready);
        } else if (!offered(waiting)) {
            drop(waiting);
            noRoom(waiting);
        }
    }

    private boolean offered(Waiting waiting) {
        try {
            return room.offer(waiting, 0, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Room thread: memory is allocated, or comes back from tasks that have read what they fetched. */
    private void waitForRoom(Waiting waiting) {
        ByteBuffer buffer = requests.has(waiting.request()) ? pool.take(waiting.bytes()) : null;
        if (buffer != null) {
            pull(waiting, buffer);
            return;
        }
        boolean wanted = requests.has(waiting.request());
        try {
            engine.execute(() -> drop(waiting));
        } catch (RejectedExecutionException e) {
            LOG.debug("stopping");
        }
        if (wanted) {
            noRoom(waiting);
        }
    }

    /** Engine thread. */
    private void drop(Waiting waiting) {
        engine.drop(waiting.remote());
        waiting.request().link().pulls().ended(waiting.bytes());
    }

    private void pull(Waiting waiting, ByteBuffer buffer) {
        engine.pull(waiting.remote(), buffer, (error, length) -> {
            // The next one is under way while these blocks are handed out.
            waiting.request().link().pulls().ended(waiting.bytes());
            if (error != null) {
                pool.give(buffer);
                fallBack.takeOver(waiting.request(), error);
            } else {
                handOut(waiting.peer(), waiting.request(), waiting.reply(), buffer);
            }
        });
    }

    /** Said once. */
    private void noRoom(Waiting waiting) {
        VbnException cause = new VbnException(VbnStatus.NO_MEMORY, "no direct memory for " + waiting.bytes()
            + " bytes of blocks: " + cure);
        if (saidNoRoom.compareAndSet(false, true)) {
            LOG.warn("blocks come by Spark's transport for now: {}; {} of {} MiB for blocks are in use", cause.getMessage(),
                pool.used() >> 20, pool.bound() >> 20);
        }
        fallBack.takeOver(waiting.request(), cause);
    }

    /** Engine thread. Who waits for a broadcast or a cached block copies it in the callback, for which others must not wait. */
    private void handOut(VbnPeer peer, FetchRequest request, Wire.Reply reply, ByteBuffer buffer) {
        if (request.name(0).startsWith("shuffle_") || !threads.run(() -> deliver(peer, request, reply, buffer))) {
            deliver(peer, request, reply, buffer);
        }
    }

    private void deliver(VbnPeer peer, FetchRequest request, Wire.Reply reply, ByteBuffer buffer) {
        ByteBuffer in = buffer.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        ReceivedBuffer.Owner owner = new ReceivedBuffer.Owner(buffer, pool);
        int at = 4 * reply.count();
        for (int i = 0; i < reply.count(); i++) {
            int length = in.getInt(4 * i);
            if (length > in.limit() - at || length < -1) {
                fallBack.takeOver(request, new VbnException(VbnStatus.PROTOCOL, "malformed fetch reply"));
                break;
            }
            deliver(request, reply.first() + i, owner, at, length);
            at += Math.max(0, length);
        }
        owner.release();
        LastUse.note(peer);
        request.heard(System.nanoTime());
        if (request.isComplete() && requests.ended(request)) {
            traffic.fetches().completed(System.nanoTime() - request.sentAt());
        }
    }

    /** One block; a negative length says that the other executor could not give it. */
    private void deliver(FetchRequest request, int block, ReceivedBuffer.Owner owner, int at, int length) {
        if (!request.take(block)) {
            return;
        }
        if (length < 0) {
            fallBack.bring(request, request.name(block));
            return;
        }
        traffic.count(request.link().path(), length);
        ReceivedBuffer slice = owner.slice(at, length);
        request.listener().onBlockFetchSuccess(request.name(block), slice);
        slice.release();
    }

    @Override
    public void close() {
        pool.close();
        room.close();
    }
}
