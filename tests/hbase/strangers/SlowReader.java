// SPDX-License-Identifier: Apache-2.0
// A client that has the key, sends a server many calls by the core, and does not read the answers until it is told to.
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.security.User;
import org.apache.hadoop.hbase.shaded.protobuf.RequestConverter;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.ConnectionHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.RequestHeader;
import org.apache.hadoop.hbase.shaded.protobuf.generated.RPCProtos.UserInformation;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.protobuf.Message;
import org.apache.hbase.thirdparty.io.netty.bootstrap.Bootstrap;
import org.apache.hbase.thirdparty.io.netty.buffer.ByteBuf;
import org.apache.hbase.thirdparty.io.netty.buffer.Unpooled;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelFuture;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelHandlerContext;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInitializer;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelOption;
import org.apache.hbase.thirdparty.io.netty.channel.SimpleChannelInboundHandler;
import org.apache.hbase.thirdparty.io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.node.CoreNode;
import org.verbena.hbase.node.HBaseConf;

/**
 * SlowReader PORT COUNT: so many reads of a large value. Each line of standard input, "sent" or "read", is answered by a number: of
 * calls that have left this process, and, when all answers have come, of those that have the value.
 */
public final class SlowReader {
    private static final long LIMIT_SECONDS = 240;
    private static final byte[] PREAMBLE = {'H', 'B', 'a', 's', 0, 80};
    private static final TableName NAME = TableName.valueOf("slowreader");
    private static final byte[] FAMILY = Bytes.toBytes("f");
    private static final int REGIONS = 8;
    private static final int VALUE = 512 << 10;
    private static final int PADDING = 32 << 10; // a call is large, so that a window holds few of them

    private final AtomicInteger sent = new AtomicInteger();
    private final AtomicInteger whole = new AtomicInteger();
    private final CountDownLatch answered;

    private SlowReader(int count) {
        answered = new CountDownLatch(count);
    }

    public static void main(String[] words) throws Exception {
        InetSocketAddress server = new InetSocketAddress("localhost", Integer.parseInt(words[0]));
        int count = Integer.parseInt(words[1]);
        byte[] call;
        try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create())) {
            call = call(connection, server.getPort());
        }
        SlowReader reader = new SlowReader(count);
        Channel channel = reader.send(server, count, call);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            if (line.equals("read")) {
                channel.config().setAutoRead(true);
                if (!reader.answered.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                    throw new IOException(reader.answered.getCount() + " answers lack after " + LIMIT_SECONDS + " s");
                }
            }
            System.out.println(line.equals("read") ? reader.whole.get() : reader.sent.get());
        }
        System.exit(0); // the loops go on
    }

    /** Writes a large value to a region of the server, and gives the read of it. */
    private static byte[] call(Connection connection, int port) throws IOException {
        byte[][] splits = new byte[REGIONS - 1][];
        for (int i = 1; i < REGIONS; i++) {
            splits[i - 1] = new byte[] {(byte) i};
        }
        try (Admin admin = connection.getAdmin()) {
            if (!admin.tableExists(NAME)) {
                admin.createTable(TableDescriptorBuilder.newBuilder(NAME).setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY))
                    .build(), splits);
            }
        }
        for (HRegionLocation place : connection.getRegionLocator(NAME).getAllRegionLocations()) {
            if (place.getPort() == port) {
                byte[] start = place.getRegion().getStartKey();
                byte[] row = start.length == 0 ? new byte[] {0} : start;
                try (Table table = connection.getTable(NAME)) {
                    table.put(new Put(row).addColumn(FAMILY, FAMILY, new byte[VALUE]));
                }
                Get get = new Get(row);
                get.setAttribute("padding", new byte[PADDING]);
                return joined(RequestHeader.newBuilder().setCallId(1).setMethodName("Get").setRequestParam(true).build(),
                    RequestConverter.buildGetRequest(place.getRegion().getRegionName(), get));
            }
        }
        throw new IOException("no region of " + NAME + " is at port " + port);
    }

    private Channel send(InetSocketAddress server, int count, byte[] call) throws Exception {
        ChannelFuture made = new Bootstrap().group(CoreNode.of(HBaseConf.of(HBaseConfiguration.create()))
            .start(LocalAddress.towards(server))).channel(VbnChannel.class).option(ChannelOption.AUTO_READ, false)
            .handler(new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new LengthFieldBasedFrameDecoder(2 * VALUE, 0, 4), new Answers());
                }
            }).connect(server);
        if (!made.await(LIMIT_SECONDS, TimeUnit.SECONDS) || !made.isSuccess()) {
            throw new IOException("no connection", made.cause());
        }
        byte[] connection = ConnectionHeader.newBuilder().setServiceName("ClientService")
            .setUserInfo(UserInformation.newBuilder().setEffectiveUser(User.getCurrent().getShortName())).build().toByteArray();
        made.channel().write(Unpooled.wrappedBuffer(PREAMBLE, length(connection.length), connection));
        for (int i = 0; i < count; i++) {
            made.channel().writeAndFlush(Unpooled.wrappedBuffer(length(call.length), call)).addListener(done -> {
                if (done.isSuccess()) {
                    sent.incrementAndGet();
                }
            });
        }
        return made.channel();
    }

    /** Counts answers. */
    private final class Answers extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf answer) {
            if (answer.readableBytes() > VALUE) {
                whole.incrementAndGet();
            }
            answered.countDown();
        }
    }

    private static byte[] length(int bytes) {
        return ByteBuffer.allocate(4).putInt(bytes).array();
    }

    private static byte[] joined(Message... parts) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Message part : parts) {
            part.writeDelimitedTo(all);
        }
        return all.toByteArray();
    }
}
