// SPDX-License-Identifier: Apache-2.0
// A connection of the RPC client by a stream: what Hadoop's does by a socket, on the callers' own threads.
package org.apache.hadoop.ipc;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.security.PrivilegedExceptionAction;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.security.sasl.SaslException;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.ipc.Client.ConnectionId;
import org.apache.hadoop.ipc.Client.IpcStreams;
import org.apache.hadoop.ipc.protobuf.IpcConnectionContextProtos.IpcConnectionContextProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto.OperationProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto.RpcStatusProto;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.SaslRpcClient;
import org.apache.hadoop.security.SaslRpcServer.AuthMethod;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ProtoUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;
import org.verbena.hadoop.rpc.node.CallStream;
import org.verbena.hadoop.rpc.node.ServerLink;

/**
 * A caller writes its request itself. Of the callers that wait, one reads: the answers of all, until it has its own; then another
 * one does. The protocol is Hadoop's: header, SASL and context come first, and each frame has a length.
 *
 * <p>What goes wrong before the first request makes the call go by TCP, where Hadoop has its retries and new logins.
 */
final class CoreConnection {
    private static final Logger LOG = LoggerFactory.getLogger(CoreConnection.class);
    private static final long FAILED_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** A reader without pings looks by itself so often. */
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What {@link #setUp} finds. */
    enum State {
        /** It takes calls. */
        OPEN,
        /** Its calls go by TCP for a while. */
        FAILED,
        /** Another one is to be made. */
        CLOSED
    }

    /** A call that waits for its answer. */
    static final class Waiting implements ReadTurn.Caller {
        private final Client.Call call;
        private final AlignmentContext alignment;
        private final Thread thread = Thread.currentThread();
        private boolean added;
        private Writable value;
        private IOException error;
        private volatile boolean done;

        Waiting(Client.Call call, AlignmentContext alignment) {
            this.call = call;
            this.alignment = alignment;
        }

        boolean isAdded() {
            return added;
        }

        Client.Call call() {
            return call;
        }

        private void end(Writable result, IOException failure) {
            value = result;
            error = failure;
            done = true;
            wake();
        }

        @Override
        public boolean isDone() {
            return done;
        }

        @Override
        public void wake() {
            LockSupport.unpark(thread);
        }
    }

    /** The server did not take the stream: it has as many connections as it may have. It has not read the call. */
    static final class RefusedException extends IOException {
        private static final long serialVersionUID = 1L;

        RefusedException(IOException cause) {
            super("the server has refused the stream", cause);
        }
    }

    private final CoreClient client;
    private final ConnectionId to;
    private final ServerLink link;
    private final int responseMax;
    private final long connectMillis;
    private final Map<Integer, Waiting> calls = new ConcurrentHashMap<>();
    private final ReadTurn turn = new ReadTurn();
    private final Object sending = new Object();
    // Guarded by this:
    private State state;
    private long failedAt;
    private IOException closeCause;
    private CallStream stream;
    private IpcStreams bytes;
    private SaslRpcClient sasl;
    private ScheduledFuture<?> idleCheck;
    private volatile long lastActivity = System.nanoTime();
    private volatile long waitsSince;

    CoreConnection(CoreClient client, ConnectionId to, ServerLink link) {
        this.client = client;
        this.to = to;
        this.link = link;
        this.responseMax = client.conf().getInt(CommonConfigurationKeys.IPC_MAXIMUM_RESPONSE_LENGTH,
            CommonConfigurationKeys.IPC_MAXIMUM_RESPONSE_LENGTH_DEFAULT);
        this.connectMillis = client.conf().getInt(CommonConfigurationKeys.IPC_CLIENT_CONNECT_TIMEOUT_KEY,
            CommonConfigurationKeys.IPC_CLIENT_CONNECT_TIMEOUT_DEFAULT);
    }

    // ------------------------------------------------------------------------------------------------------ set up

    /** Connects, if nobody has; others wait for that. */
    synchronized State setUp(VbnPeer peer) {
        if (state == null) {
            try {
                connect(peer);
                state = State.OPEN;
                long idle = Math.max(1, to.getMaxIdleTime());
                idleCheck = client.node().background().scheduleWithFixedDelay(this::closeIfIdle, idle, idle, TimeUnit.MILLISECONDS);
            } catch (IOException | RuntimeException e) {
                failed(peer, e);
            }
        } else if (state == State.FAILED && System.nanoTime() - failedAt > FAILED_NANOS) {
            state = State.CLOSED;
        }
        return state;
    }

    private void failed(VbnPeer peer, Exception cause) {
        state = State.FAILED;
        failedAt = System.nanoTime();
        LOG.info("Verbena: calls of {} to {} go by TCP for now, the connection by the core was not set up: {}", to.getTicket(),
            to.getAddress(), cause.toString());
        closeStream();
        if (!peer.isLost() && (cause instanceof SocketTimeoutException || cause instanceof EOFException)) {
            link.down("it does not answer by the core: " + cause.getMessage());
        }
    }

    private void connect(VbnPeer peer) throws IOException {
        stream = link.open(peer);
        stream.limit(connectMillis);
        bytes = new IpcStreams(stream.socket(), responseMax);
        UserGroupInformation ticket = to.getTicket();
        boolean trySasl = UserGroupInformation.isSecurityEnabled() || ticket != null && !ticket.getTokens().isEmpty();
        Server.AuthProtocol protocol = trySasl ? Server.AuthProtocol.SASL : Server.AuthProtocol.NONE;
        bytes.out.write(RpcConstants.HEADER.array());
        bytes.out.write(RpcConstants.CURRENT_VERSION);
        bytes.out.write(RPC.RPC_SERVICE_CLASS_DEFAULT);
        bytes.out.write(protocol.callId);
        AuthMethod method = trySasl ? authenticate(ticket) : null;
        IpcConnectionContextProto context =
            ProtoUtil.makeIpcConnectionContext(RPC.getProtocolName(to.getProtocol()), ticket, method);
        ResponseBuffer buffer = new ResponseBuffer();
        header(RpcConstants.CONNECTION_CONTEXT_CALL_ID).writeDelimitedTo(buffer);
        context.writeDelimitedTo(buffer);
        bytes.sendRequest(buffer.toByteArray());
        stream.limit(to.getRpcTimeout());
        link.answered(peer);
    }

    private RpcRequestHeaderProto header(int callId) {
        return ProtoUtil.makeRpcRequestHeader(RPC.RpcKind.RPC_PROTOCOL_BUFFER, OperationProto.RPC_FINAL_PACKET, callId,
            RpcConstants.INVALID_RETRY_COUNT, client.id());
    }

    /** Simple authentication in place of SASL is left to Hadoop's own connection, which decides whether it is allowed. */
    private AuthMethod authenticate(UserGroupInformation ticket) throws IOException {
        UserGroupInformation user = ticket == null ? UserGroupInformation.getCurrentUser()
            : ticket.getRealUser() == null ? ticket : ticket.getRealUser();
        sasl = new SaslRpcClient(ticket, to.getProtocol(), to.getAddress(), Internals.conf(to));
        try {
            AuthMethod method = user.doAs((PrivilegedExceptionAction<AuthMethod>) () -> sasl.saslConnect(bytes));
            if (method == AuthMethod.SIMPLE) {
                throw new IOException("the server asks for simple authentication in place of SASL");
            }
            bytes.setSaslClient(sasl);
            return method;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while it authenticated");
        }
    }

    // ------------------------------------------------------------------------------------------------------- calls

    /** A call that is not added finds the connection closed. */
    synchronized Waiting add(Client.Call call, AlignmentContext alignment) {
        Waiting waiting = new Waiting(call, alignment);
        if (state == State.OPEN) {
            if (calls.isEmpty()) {
                waitsSince = System.nanoTime();
            }
            calls.put(call.id, waiting);
            waiting.added = true;
        }
        return waiting;
    }

    /**
     * Sends an added call and waits for its answer.
     *
     * @throws RefusedException when the call may go by TCP
     */
    Writable run(Waiting waiting) throws IOException {
        if (Thread.currentThread().isInterrupted()) {
            calls.remove(waiting.call.id);
            throw new InterruptedIOException("Interrupted waiting to send RPC request to server");
        }
        send(waiting);
        try {
            await(waiting);
        } catch (InterruptedException e) {
            calls.remove(waiting.call.id); // its answer is dropped
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("Call interrupted");
        }
        if (waiting.error == null) {
            return waiting.value;
        }
        if (waiting.error instanceof RefusedException refused) {
            throw new RefusedException(refused);
        }
        if (waiting.error instanceof RemoteException || waiting.error instanceof SaslException) {
            waiting.error.fillInStackTrace();
            throw waiting.error;
        }
        InetSocketAddress address = to.getAddress();
        throw NetUtils.wrapException(address.getHostName(), address.getPort(), NetUtils.getHostname(), 0, waiting.error);
    }

    private void send(Waiting waiting) throws IOException {
        byte[] frame;
        try (ResponseBuffer buffer = new ResponseBuffer()) {
            ProtoUtil.makeRpcRequestHeader(waiting.call.rpcKind, OperationProto.RPC_FINAL_PACKET, waiting.call.id,
                waiting.call.retry, client.id(), waiting.alignment).writeDelimitedTo(buffer);
            RpcWritable.wrap(waiting.call.rpcRequest).writeTo(buffer);
            frame = buffer.toByteArray();
        } catch (IOException | RuntimeException e) {
            calls.remove(waiting.call.id);
            throw e;
        }
        try {
            write(frame);
        } catch (IOException e) {
            close(e); // half a request may be on its way
        }
    }

    private void write(byte[] frame) throws IOException {
        synchronized (sending) {
            bytes.sendRequest(frame);
            bytes.flush();
        }
        lastActivity = System.nanoTime();
    }

    private void await(Waiting mine) throws InterruptedException {
        while (!mine.done) {
            if (turn.lead()) {
                try {
                    while (!mine.done) {
                        readOne(mine);
                    }
                } finally {
                    turn.leave();
                }
            } else {
                turn.follow(mine);
            }
        }
    }

    private void readOne(Waiting mine) throws InterruptedException {
        int timeout = to.getRpcTimeout();
        boolean pings = to.getDoPing();
        int step = timeout > 0 && !(pings && to.getPingInterval() < timeout) ? timeout : to.getPingInterval();
        try {
            long nanos = step > 0 ? TimeUnit.MILLISECONDS.toNanos(step) : LOOK_NANOS;
            if (stream.awaitAnswer(() -> mine.done, nanos)) {
                receive();
            } else if (!mine.done && step > 0) {
                silent(timeout, pings);
            }
        } catch (IOException e) {
            close(e);
        }
    }

    /** Nothing came for a time: a call's own limit is over, or a ping shows whether the server is there. */
    private void silent(int timeout, boolean pings) throws IOException {
        long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - waitsSince);
        if (timeout > 0 && waited >= timeout) {
            throw new SocketTimeoutException(timeout + " millis timeout while waiting for channel to be ready for read. ch : "
                + stream.socket());
        }
        if (pings) {
            ResponseBuffer buffer = new ResponseBuffer();
            header(RpcConstants.PING_CALL_ID).writeDelimitedTo(buffer);
            write(buffer.toByteArray());
        }
    }

    private void receive() throws IOException {
        RpcWritable.Buffer packet = RpcWritable.Buffer.wrap(bytes.readResponse());
        RpcResponseHeaderProto header = packet.getValue(RpcResponseHeaderProto.getDefaultInstance());
        client.checkResponse(header);
        lastActivity = System.nanoTime();
        waitsSince = lastActivity;
        RpcStatusProto status = header.getStatus();
        if (status == RpcStatusProto.FATAL) {
            throw error(header);
        }
        Waiting call = calls.get(header.getCallId());
        Writable value = status == RpcStatusProto.SUCCESS ? packet.newInstance(RpcWritable.Buffer.class, client.conf()) : null;
        if (packet.remaining() > 0) {
            throw new RpcClientException("RPC response length mismatch");
        }
        if (call == null) {
            LOG.debug("an answer to call {} of {}, which does not wait any more", header.getCallId(), to.getAddress());
            return;
        }
        if (call.alignment != null && header.hasStateId()) {
            call.alignment.receiveResponseState(header);
        }
        calls.remove(header.getCallId());
        call.end(value, value == null ? error(header) : null);
    }

    private static RemoteException error(RpcResponseHeaderProto header) {
        return new RemoteException(
            header.hasExceptionClassName() ? header.getExceptionClassName() : "ServerDidNotSetExceptionClassName",
            header.hasErrorMsg() ? header.getErrorMsg() : "ServerDidNotSetErrorMsg",
            header.hasErrorDetail() ? header.getErrorDetail() : null);
    }

    // --------------------------------------------------------------------------------------------------------- end

    private void closeIfIdle() {
        if (System.nanoTime() - lastActivity >= TimeUnit.MILLISECONDS.toNanos(to.getMaxIdleTime())) {
            synchronized (this) {
                if (!calls.isEmpty() || state != State.OPEN) {
                    return;
                }
                state = State.CLOSED;
            }
            end(new IOException("the connection was idle"));
        }
    }

    /** Ends the connection; all its calls fail with the cause, or go by TCP where the server has refused it. Idempotent. */
    void close(IOException cause) {
        boolean refused;
        synchronized (this) {
            if (state != State.OPEN) {
                return;
            }
            refused = stream.isRefused();
            state = refused ? State.FAILED : State.CLOSED;
            failedAt = System.nanoTime();
        }
        if (refused) {
            LOG.info("Verbena: calls of {} to {} go by TCP for now: the server takes no further connection by the core",
                to.getTicket(), to.getAddress());
        }
        end(refused ? new RefusedException(cause) : cause);
    }

    private void end(IOException cause) {
        if (!(cause instanceof RefusedException)) {
            client.forget(to, this); // else no other one is to be made for a while
        }
        closeStream();
        calls.values().forEach(call -> {
            calls.remove(call.call.id);
            call.end(null, cause);
        });
    }

    private void closeStream() {
        if (idleCheck != null) {
            idleCheck.cancel(false);
        }
        if (stream != null) {
            stream.close();
            link.closed(stream);
        }
        if (sasl != null) {
            try {
                sasl.dispose();
            } catch (SaslException e) {
                LOG.debug("SASL's end", e);
            }
        }
    }
}
