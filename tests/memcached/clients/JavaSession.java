// SPDX-License-Identifier: Apache-2.0
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.XMemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.command.BinaryCommandFactory;
import net.spy.memcached.BinaryConnectionFactory;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactory;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.MemcachedClient;

/** usage: JavaSession HOST PORT. What spymemcached and xmemcached ask a server, as text and binary, with what it must give back. */
public final class JavaSession {
    private static final long WAIT_MS = 60_000;

    private static void equal(Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) {
            throw new IllegalStateException("got " + got + ", wanted " + wanted);
        }
    }

    private static byte[] large() {
        byte[] large = new byte[700_000];
        for (int i = 0; i < large.length; i++) {
            large[i] = (byte) i;
        }
        return large;
    }

    private static List<String> keys() {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            keys.add("m" + i);
        }
        return keys;
    }

    private static void spy(ConnectionFactory factory, InetSocketAddress server) throws Exception {
        MemcachedClient client = new MemcachedClient(factory, List.of(server));
        equal(client.set("k", 0, "v").get(), true);
        equal(client.get("k"), "v");
        equal(client.get("none"), null);
        equal(client.add("k", 0, "x").get(), false);
        equal(client.replace("k", 0, "w").get(), true);
        equal(client.append("k", "+").get(), true);
        equal(client.prepend("k", "-").get(), true);
        equal(client.get("k"), "-w+");
        equal(client.set("large", 0, large()).get(), true);
        equal(Arrays.equals((byte[]) client.get("large"), large()), true);
        for (String key : keys()) {
            client.set(key, 100, key);
        }
        Map<String, Object> many = client.getBulk(keys());
        equal(many.size(), 300);
        many.forEach((key, value) -> equal(value, key));
        equal(client.incr("n", 5, 10), 10L);
        equal(client.incr("n", 5), 15L);
        equal(client.decr("n", 20), 0L);
        equal(client.touch("k", 100).get(), true);
        CASValue<Object> gets = client.gets("k");
        equal(client.cas("k", gets.getCas(), "new"), CASResponse.OK);
        equal(client.cas("k", gets.getCas(), "newer"), CASResponse.EXISTS);
        equal(client.delete("k").get(), true);
        equal(client.delete("k").get(), false);
        equal(client.getStats().size(), 1);
        equal(client.flush().get(), true);
        client.shutdown();
    }

    private static void x(boolean binary, InetSocketAddress server) throws Exception {
        XMemcachedClientBuilder builder = new XMemcachedClientBuilder(List.of(server));
        if (binary) {
            builder.setCommandFactory(new BinaryCommandFactory());
        }
        builder.setOpTimeout(WAIT_MS);
        XMemcachedClient client = (XMemcachedClient) builder.build();
        equal(client.set("k", 0, "v"), true);
        equal(client.get("k"), "v");
        equal(client.get("none"), null);
        equal(client.add("k", 0, "x"), false);
        equal(client.replace("k", 0, "w"), true);
        equal(client.append("k", "+"), true);
        equal(client.prepend("k", "-"), true);
        equal(client.get("k"), "-w+");
        equal(client.set("large", 0, large()), true);
        equal(Arrays.equals(client.<byte[]>get("large"), large()), true);
        for (String key : keys()) {
            client.set(key, 100, key);
        }
        Map<String, Object> many = client.get(keys());
        equal(many.size(), 300);
        many.forEach((key, value) -> equal(value, key));
        equal(client.incr("n", 5, 10), 10L);
        equal(client.incr("n", 5), 15L);
        equal(client.decr("n", 20), 0L);
        equal(client.touch("k", 100), true);
        GetsResponse<Object> gets = client.gets("k");
        equal(client.cas("k", 0, "new", gets.getCas()), true);
        equal(client.cas("k", 0, "newer", gets.getCas()), false);
        equal(client.delete("k"), true);
        equal(client.delete("k"), false);
        client.flushAll();
        client.shutdown();
    }

    public static void main(String[] words) throws Exception {
        InetSocketAddress server = new InetSocketAddress(words[0], Integer.parseInt(words[1]));
        spy(new DefaultConnectionFactory() {
            @Override
            public long getOperationTimeout() {
                return WAIT_MS;
            }
        }, server);
        spy(new BinaryConnectionFactory() {
            @Override
            public long getOperationTimeout() {
                return WAIT_MS;
            }
        }, server);
        x(false, server);
        x(true, server);
        System.out.println("all steps passed");
    }
}
