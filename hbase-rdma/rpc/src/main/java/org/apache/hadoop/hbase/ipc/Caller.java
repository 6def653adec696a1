// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.hbase.thirdparty.com.google.protobuf.Message;
import org.apache.hbase.thirdparty.com.google.protobuf.RpcCallback;
import org.apache.hbase.thirdparty.com.google.protobuf.ServiceException;
import org.verbena.hbase.netty.VbnEventLoop;

/**
 * A thread that makes a call and waits for its answer. When the call goes by the core the thread drives the event loop
 * meanwhile, so that it sends the call and receives the answer itself. Made and awaited by that thread.
 */
final class Caller implements RpcCallback<Message> {
    /** Longest wait at a time: an interrupt does not end that of a thread that drives a loop. */
    private static final long WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final ThreadLocal<Caller> CURRENT = new ThreadLocal<>();

    private final Thread thread = Thread.currentThread();
    private volatile VbnEventLoop loop;
    private volatile boolean done;
    private Message answer;

    /** This thread issues its call from now on, until {@link #issued}. */
    void issues() {
        CURRENT.set(this);
    }

    void issued() {
        CURRENT.remove();
    }

    /** Who issues a call on this thread; null when its caller does not wait. */
    static Caller current() {
        return CURRENT.get();
    }

    /** The call goes by a channel of this loop. */
    void waitsOn(VbnEventLoop taken) {
        loop = taken;
    }

    @Override
    public void run(Message received) {
        answer = received;
        done = true;
        VbnEventLoop taken = loop;
        if (taken == null) {
            LockSupport.unpark(thread);
        } else {
            taken.unpark(thread);
        }
    }

    /** Waits; the answer is null when the call has failed. */
    Message await() throws ServiceException {
        while (!done) {
            VbnEventLoop taken = loop;
            if (taken == null) {
                LockSupport.parkNanos(this, WAIT_NANOS);
            } else {
                taken.park(() -> done, WAIT_NANOS);
            }
            if (!done && Thread.interrupted()) {
                InterruptedIOException interrupted = new InterruptedIOException("interrupted while it waited for an answer");
                interrupted.initCause(new InterruptedException());
                throw new ServiceException(interrupted);
            }
        }
        return answer;
    }
}
