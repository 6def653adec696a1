// SPDX-License-Identifier: Apache-2.0
// Tells reducers, over the shuffle's own HTTP port and with its own signature, where the core's engine of their job is.
package org.verbena.hadoop.shuffle;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * GET /verbena?job=JOB, with the header UrlHash as any shuffle request. Answers with the header ReplyHash and the engine's
 * address, in which there is no secret; or with 401 or 503 and the cause.
 */
final class AddressHandler extends SimpleChannelInboundHandler<FullHttpRequest> {
    static final String PATH = "/verbena";
    private static final Logger LOG = LoggerFactory.getLogger(AddressHandler.class);

    private final JobServers servers;

    AddressHandler(JobServers servers) {
        this.servers = servers;
    }

    /** Sits in the listening channel and puts the handler before the stock one of every accepted connection. */
    static final class Installer extends ChannelInboundHandlerAdapter {
        private final JobServers servers;

        Installer(JobServers servers) {
            this.servers = servers;
        }

        /**
         * Puts one into a listening channel, for all connections that are made after this has returned: the channel's loop passes
         * by a handler that another thread adds until the loop has seen it, which would be after the next connections.
         */
        static void install(Channel listening, JobServers servers) throws InterruptedException {
            listening.eventLoop().submit(() -> listening.pipeline().addFirst("verbena", new Installer(servers))).sync();
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object accepted) {
            ((Channel) accepted).pipeline().addLast("verbena-setup", new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext child) {
                    child.pipeline().addBefore("shuffle", "verbena", new AddressHandler(servers)); // the stock handlers are in
                    child.fireChannelActive();
                    child.pipeline().remove(this);
                }
            });
            ctx.fireChannelRead(accepted);
        }
    }

    @Override
    public boolean acceptInboundMessage(Object message) {
        return message instanceof FullHttpRequest request && request.uri().startsWith(PATH + "?");
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
        List<String> jobs = new QueryStringDecoder(request.uri()).parameters().get("job");
        if (jobs == null || jobs.size() != 1) {
            answer(ctx, HttpResponseStatus.BAD_REQUEST, "one parameter job is needed".getBytes(StandardCharsets.UTF_8), null);
            return;
        }
        String job = jobs.get(0);
        String hash = request.headers().get(SecureShuffleUtils.HTTP_HEADER_URL_HASH, "");
        String reply;
        try {
            reply = verified(job, request.uri(), hash);
        } catch (IOException e) {
            LOG.warn("a request for the address of {} is refused: {}", job.replaceAll("\\W", "?"), e.getMessage());
            answer(ctx, HttpResponseStatus.UNAUTHORIZED,
                "the request is not signed with the job's token, or no such job runs on this node"
                    .getBytes(StandardCharsets.UTF_8), null);
            return;
        }
        InetAddress local = ((InetSocketAddress) ctx.channel().localAddress()).getAddress();
        servers.execute(() -> {
            try {
                answer(ctx, HttpResponseStatus.OK, servers.address(job, local), reply);
            } catch (IOException | RuntimeException | Error e) { // without an answer a reducer waits for its time-out
                String cause = e instanceof IOException && e.getMessage() != null ? e.getMessage() : e.toString();
                LOG.warn("{} is served by HTTP only: {}", job, cause);
                answer(ctx, HttpResponseStatus.SERVICE_UNAVAILABLE, cause.getBytes(StandardCharsets.UTF_8), reply);
            }
        });
    }

    /** Checks the signature as the stock handler does and gives that of the answer. */
    private String verified(String job, String uri, String hash) throws IOException {
        SecretKey key = servers.secret(job);
        String message = SecureShuffleUtils.buildMsgFrom(new URL("http", "", servers.port(), uri));
        SecureShuffleUtils.verifyReply(hash, message, key);
        return SecureShuffleUtils.generateHash(hash.getBytes(StandardCharsets.UTF_8), key);
    }

    private static void answer(ChannelHandlerContext ctx, HttpResponseStatus status, byte[] body, String reply) {
        FullHttpResponse response =
            new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(body));
        if (reply != null) {
            response.headers().set(SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH, reply);
        }
        HttpUtil.setContentLength(response, body.length);
        ctx.writeAndFlush(response).addListener(ChannelFutureListener.CLOSE);
    }
}
