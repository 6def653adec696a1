// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.verbena.core.stream.StreamServer;

/** A second JVM for tests: what it does is in main, what it says are lines on its standard output. */
public final class Child implements AutoCloseable {
    private final Process process;
    private final BlockingQueue<String> lines = new ArrayBlockingQueue<>(10_000);
    private final Thread reader;

    public Child(List<String> jvmOptions, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
            System.getProperty("java.class.path")));
        command.addAll(jvmOptions);
        command.add(Child.class.getName());
        command.addAll(List.of(arguments));
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        reader = new Thread(this::read, "child-output");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader in = process.inputReader()) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        } catch (IOException e) {
            lines.add("unreadable: " + e);
        }
    }

    /** Waits for the first line that starts with the word and returns the rest of it. */
    public String expect(String word) throws InterruptedException {
        List<String> others = new ArrayList<>();
        for (String line = next(); line != null; line = next()) {
            if (line.startsWith(word)) {
                return line.substring(word.length()).strip();
            }
            others.add(line);
        }
        throw new AssertionError("no line " + word + " from the child, but: " + others);
    }

    private String next() throws InterruptedException {
        return lines.poll(Fixture.TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    /** Lets the child end by itself and returns what it has said since. */
    public List<String> finish() throws Exception {
        process.getOutputStream().close();
        if (!process.waitFor(Fixture.TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("the child does not end: " + lines);
        }
        reader.join(TimeUnit.SECONDS.toMillis(Fixture.TIMEOUT_SECONDS));
        List<String> rest = new ArrayList<>(lines);
        rest.add("exit " + process.exitValue());
        return rest;
    }

    /** SIGKILL. */
    public void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor(Fixture.TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    // ------------------------------------------------------------------------------------- in the second JVM

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "serve" -> serve(arguments[1], Integer.parseInt(arguments[2]));
            case "talk" -> talk(arguments[1]);
            case "open" -> open(Path.of(arguments[1]));
            case "streams" -> StreamServer.main(arguments[1]);
            case "load" -> load();
            case "loaders" -> loaders();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** An echo server until standard input ends. Id 3 keeps large messages for ever. */
    private static void serve(String transports, int keySeed) throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", transports).jobKey(Fixture.jobKey(keySeed));
        try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("server");
                VbnMemory memory = context.allocate(1 << 20)) {
            Fixture.serveEcho(context, engine);
            engine.onMessage(3, message -> System.out.println("kept " + message.length()));
            memory.buffer().put(0, Fixture.pattern(1 << 20, 1), 0, 1 << 20);
            System.out.println("key " + HexFormat.of().formatHex(memory.exportKey(0, 1 << 20, true)));
            System.out.println("address " + HexFormat.of().formatHex(engine.address()));
            System.in.readAllBytes();
        }
        System.out.println("served");
    }

    /** Messages, one-sided operations and memory within this JVM; ends by itself. */
    private static void talk(String transports) throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", transports).jobKey(Fixture.jobKey(1));
        try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("a");
                VbnEngine other = context.startEngine("b"); VbnMemory memory = context.allocate(1 << 20)) {
            Fixture.serveEcho(context, other);
            BlockingQueue<ByteBuffer> replies = new ArrayBlockingQueue<>(100);
            Fixture.onReplies(engine, replies::add);
            VbnPeer peer = engine.connect(other.address(), null);
            for (int size : new int[] {0, 100, 100_000, 5_000_003}) {
                ByteBuffer data = Fixture.pattern(size, 0);
                engine.send(peer, Fixture.ECHO, null, new ByteBuffer[] {data}, null);
                boolean same = data.equals(replies.poll(Fixture.TIMEOUT_SECONDS, TimeUnit.SECONDS));
                System.out.println("reply " + (same ? size : "damaged or late"));
            }
            try (VbnKey key = engine.importKey(peer, memory.exportKey(0, 4096, true))) {
                Fixture.Wait get = new Fixture.Wait();
                engine.get(key, 0, ByteBuffer.allocateDirect(100), get);
                System.out.println("got " + get.get() + " mapped " + (key.mapped() != null));
            }
            System.out.println("counters " + context.counters().size() + " " + peer.explain());
            peer.close();
        }
        try {
            VbnContext.open(new VbnConfig().set("no.such.setting", "1")).close();
        } catch (VbnException e) {
            System.out.println("refused " + e.statusName());
        }
        System.out.println("talked");
    }

    private static void open(Path path) throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", "self").jobKey(Fixture.jobKey(1));
        try (VbnContext context = VbnContext.open(config)) {
            try (VbnMemory memory = context.openFile(path)) {
                System.out.println("content " + StandardCharsets.UTF_8.decode(memory.slice(0, 5)) + " "
                    + memory.buffer().isReadOnly());
            } catch (VbnException e) {
                System.out.println("content " + e.statusName());
            }
        }
    }

    private static void load() {
        try {
            NativeLibrary.load();
            System.out.println("result loaded, left " + leftBehind());
        } catch (VbnException e) {
            System.out.println("result " + e.getMessage());
        }
    }

    private static long leftBehind() {
        try (var files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(path -> path.getFileName().toString().startsWith("verbena-")).count();
        } catch (IOException e) {
            return -1;
        }
    }

    /** Two class loaders talk to each other, each with its own copy of the library. */
    private static void loaders() throws Exception {
        String[] parts = System.getProperty("java.class.path").split(":");
        URL[] urls = new URL[parts.length];
        for (int i = 0; i < parts.length; i++) {
            urls[i] = Path.of(parts[i]).toUri().toURL();
        }
        List<String> said = new CopyOnWriteArrayList<>();
        try (URLClassLoader second = new URLClassLoader("second", urls, ClassLoader.getPlatformClassLoader())) {
            for (String transports : new String[] {"self,shm", "tcp"}) {
                try (LoaderTalk here = new LoaderTalk(transports, said::add);
                        AutoCloseable there = (AutoCloseable) second.loadClass(LoaderTalk.class.getName())
                            .getConstructor(String.class, Consumer.class).newInstance(transports, (Consumer<String>) said::add)) {
                    System.out.println(transports + " " + ask(there, here) + ask(here, there));
                }
            }
        }
        said.removeIf(line -> !line.contains("class loader"));
        said.forEach(line -> System.out.println("said " + line));
        System.out.println("result " + said.size() + " class loader told, " + leftBehind() + " files left");
    }

    @SuppressWarnings("unchecked")
    private static String ask(AutoCloseable who, AutoCloseable whom) {
        return ((Function<byte[], String>) who).apply(((Supplier<byte[]>) whom).get());
    }
}
