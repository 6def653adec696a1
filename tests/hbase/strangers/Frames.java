// SPDX-License-Identifier: Apache-2.0
// A client that has the key and sends a server, by the core, what is no call.
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.ConnectionHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.RequestHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.UserInformation;
import org.apache.hbase.thirdparty.io.netty.bootstrap.Bootstrap;
import org.apache.hbase.thirdparty.io.netty.buffer.Unpooled;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelFuture;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelHandlerContext;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hbase.thirdparty.io.netty.channel.EventLoopGroup;
import org.apache.hbase.thirdparty.io.netty.util.ReferenceCountUtil;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.node.CoreNode;
import org.verbena.hbase.node.HBaseConf;

/** Frames PORT COUNT SEED: so many conversations, each damaged in another way, over a channel of its own. */
public final class Frames {
    private static final int KINDS = 8;
    private static final long LIMIT_SECONDS = 120;
    private static final byte[] PREAMBLE = {'H', 'B', 'a', 's', 0, 80};

    private final Random dice;
    private final byte[] header;
    private final byte[] whole;

    private Frames(long seed) throws IOException {
        dice = new Random(seed);
        byte[] connection = ConnectionHeader.newBuilder().setServiceName("ClientService")
            .setUserInfo(UserInformation.newBuilder().setEffectiveUser("stranger")).build().toByteArray();
        header = joined(PREAMBLE, framed(connection));
        ByteArrayOutputStream call = new ByteArrayOutputStream();
        RequestHeader.newBuilder().setCallId(1).setMethodName("Get").setRequestParam(true).build().writeDelimitedTo(call);
        call.write(20); // the parameter's length; what follows is no GetRequest
        call.write(new byte[20]);
        whole = joined(header, framed(call.toByteArray()));
    }

    public static void main(String[] words) throws Exception {
        InetSocketAddress server = new InetSocketAddress("localhost", Integer.parseInt(words[0]));
        EventLoopGroup group = CoreNode.of(HBaseConf.of(HBaseConfiguration.create())).start(LocalAddress.towards(server));
        Frames frames = new Frames(Long.parseLong(words[2]));
        int count = Integer.parseInt(words[1]);
        for (int i = 0; i < count; i++) {
            talk(group, server, frames.damaged(i % KINDS), i % 3 == 0);
        }
        System.out.println("sent " + count);
    }

    /** Nothing that comes is of interest. */
    private static final class Ignored extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ReferenceCountUtil.release(message);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }

    /** Ends in the middle, or says that no more comes and waits until the server closes. */
    private static void talk(EventLoopGroup group, InetSocketAddress server, byte[] bytes, boolean abrupt) throws Exception {
        ChannelFuture made = new Bootstrap().group(group).channel(VbnChannel.class).handler(new Ignored()).connect(server);
        await(made);
        VbnChannel channel = (VbnChannel) made.channel();
        channel.writeAndFlush(Unpooled.wrappedBuffer(bytes));
        if (abrupt) {
            channel.close();
        } else {
            channel.shutdownOutput();
        }
        await(channel.closeFuture());
    }

    private static void await(ChannelFuture future) throws Exception {
        if (!future.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("nothing within " + LIMIT_SECONDS + " s");
        }
        if (!future.isSuccess()) {
            throw new IOException(future.cause());
        }
    }

    private byte[] damaged(int kind) {
        return switch (kind) {
            case 0 -> noise(dice.nextInt(5000));
            case 1 -> joined(new byte[] {'H', 'B', 'a', 's', (byte) dice.nextInt(), (byte) dice.nextInt()}, noise(50));
            case 2 -> joined(PREAMBLE, length(Integer.MAX_VALUE), noise(100));
            case 3 -> joined(header, length(-1 - dice.nextInt(1 << 20)), noise(100));
            case 4 -> joined(header, length(1 << 20), noise(100));
            case 5 -> joined(header, framed(noise(1 + dice.nextInt(500))));
            case 6 -> Arrays.copyOf(whole, dice.nextInt(whole.length));
            default -> mutated();
        };
    }

    private byte[] mutated() {
        byte[] bytes = whole.clone();
        for (int i = 1 + dice.nextInt(8); i > 0; i--) {
            bytes[dice.nextInt(bytes.length)] = (byte) dice.nextInt();
        }
        return bytes;
    }

    private byte[] noise(int count) {
        byte[] bytes = new byte[count];
        dice.nextBytes(bytes);
        return bytes;
    }

    private static byte[] length(int bytes) {
        return ByteBuffer.allocate(4).putInt(bytes).array();
    }

    private static byte[] framed(byte[] content) {
        return joined(length(content.length), content);
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }
}
