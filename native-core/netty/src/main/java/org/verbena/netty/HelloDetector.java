// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import org.verbena.core.greeting.Hello;

/**
 * Looks at the first bytes of a TCP connection: a hello of ours is answered by a greeting, and nothing of that connection
 * reaches the handlers behind; anything else is theirs, and this handler leaves. Event loop's thread of the connection.
 */
final class HelloDetector extends ChannelInboundHandlerAdapter {
    private final VbnInvitations invitations;
    /** What has come of something that may become a hello. */
    private ByteBuf held;
    private boolean greeted;

    HelloDetector(VbnInvitations invitations) {
        this.invitations = invitations;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (greeted) {
            ReferenceCountUtil.release(message);
            return;
        }
        if (!(message instanceof ByteBuf bytes)) {
            context.fireChannelRead(message);
            return;
        }
        held = held == null ? bytes : joined(context, bytes);
        Hello.Verdict verdict = Hello.look(held.nioBuffer());
        if (verdict == Hello.Verdict.OTHER) {
            context.pipeline().remove(this);
        } else if (verdict == Hello.Verdict.HELLO) {
            greeted = true;
            held.release();
            held = null;
            invitations.greet(context);
        }
    }

    /** A hello is shorter than any first packet but one that somebody cuts on purpose: copying is the exception. */
    private ByteBuf joined(ChannelHandlerContext context, ByteBuf next) {
        ByteBuf all = context.alloc().buffer(held.readableBytes() + next.readableBytes());
        all.writeBytes(held).writeBytes(next);
        held.release();
        next.release();
        return all;
    }

    /** Also how the connection ends: nothing is kept back. */
    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
        if (held != null) {
            ByteBuf theirs = held;
            held = null;
            context.fireChannelRead(theirs);
            context.fireChannelReadComplete();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (greeted) {
            context.close();
        } else {
            context.fireExceptionCaught(cause);
        }
    }
}
