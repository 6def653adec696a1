// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.util.concurrent.Future;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.verbena.core.VbnException;
import org.verbena.core.greeting.Greeting;
import org.verbena.core.stream.VbnStream;

/**
 * One connect of a channel: asks the TCP address for a greeting if it is one, opens the stream, waits until the server has
 * accepted it; all within the channel's time-out. Event loop's thread.
 */
final class ConnectAttempt {
    private static final byte[] NO_TOKEN = {};

    private final VbnChannel channel;
    private final VbnEventLoop loop;
    private final SocketAddress remote;
    private final SocketAddress local;
    private final ChannelPromise promise;
    private Future<?> timer;
    private GreetingClient greeting;
    private boolean ended;

    ConnectAttempt(VbnChannel channel, VbnEventLoop loop, SocketAddress remote, SocketAddress local,
            ChannelPromise promise) {
        this.channel = channel;
        this.loop = loop;
        this.remote = remote;
        this.local = local;
        this.promise = promise;
    }

    void begin(int timeoutMillis) {
        if (timeoutMillis > 0) {
            timer = loop.schedule(() -> timedOut(timeoutMillis), timeoutMillis, TimeUnit.MILLISECONDS);
        }
        try {
            if (remote instanceof VbnAddress address) {
                channel.open(address, NO_TOKEN);
            } else if (remote instanceof InetSocketAddress tcp && !tcp.isUnresolved()) {
                greeting = new GreetingClient(this::onGreeting,
                    () -> channel.pipeline().fireUserEventTriggered(VbnChannel.Event.ASKED));
                greeting.ask(loop.group().greeters(), tcp, local, timeoutMillis);
            } else if (remote instanceof InetSocketAddress) {
                failed(new UnknownHostException(remote + ": the name has no address"));
            } else {
                fail(new UnsupportedAddressTypeException());
            }
        } catch (VbnException | RuntimeException e) {
            failed(e);
        }
    }

    /** Thread of the greetings. */
    private void onGreeting(Greeting answer, Throwable cause) {
        try {
            loop.execute(() -> greeted(answer, cause));
        } catch (RejectedExecutionException e) {
            greeting.close(); // the loop has closed the channel
        }
    }

    private void greeted(Greeting answer, Throwable cause) {
        if (ended) {
            return;
        }
        if (cause != null) {
            failed(cause);
            return;
        }
        channel.pipeline().fireUserEventTriggered(VbnChannel.Event.GREETED);
        try {
            channel.open(new VbnAddress(answer.engine(), answer.service()), answer.token());
        } catch (VbnException | RuntimeException e) {
            failed(e);
        }
    }

    /** Looks whether the server has accepted the stream, or the stream has failed. */
    void look(VbnStream stream) {
        VbnException failure = stream.failure();
        if (failure != null) {
            failed(failure);
        } else if (stream.isAccepted()) {
            SocketAddress ours = greeting == null ? new VbnAddress(loop.engine().address(), 0)
                : greeting.localAddress();
            SocketAddress theirs = greeting == null ? remote : greeting.remoteAddress();
            release();
            channel.connected(ours, theirs, promise);
        }
    }

    private void timedOut(int millis) {
        ConnectTimeoutException cause = new ConnectTimeoutException("connection to " + remote + " timed out: "
            + (greeting != null && channel.peer() == null ? "its greeting did not come" : "its engine did not accept")
            + " within " + millis + " ms; see whether that process is alive and uses the same key and transports");
        fail(cause);
    }

    private void failed(Throwable cause) {
        String text = cause instanceof VbnException core ? core.text() : cause.getMessage();
        ConnectException shown = new ConnectException("connect to " + remote + " failed: " + text);
        shown.initCause(cause);
        fail(shown);
    }

    private void fail(Throwable cause) {
        release();
        channel.notConnected(cause, promise);
    }

    /** The channel was closed. */
    void end() {
        if (!ended) {
            release();
            promise.tryFailure(new ClosedChannelException());
        }
    }

    private void release() {
        ended = true;
        if (timer != null) {
            timer.cancel(false);
        }
        if (greeting != null) {
            greeting.close();
        }
    }
}
