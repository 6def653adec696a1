// SPDX-License-Identifier: Apache-2.0
// Writers and readers beneath faults: java Mix.java write|small FOLDER SEED, java Mix.java verify; then PROPERTY=VALUE ...
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Byte i of the file PATH is (i + the hash of PATH) % 251. "write" says what HDFS has acknowledged, one line each:
 * "flushed PATH LENGTH", "closed PATH LENGTH", "deleting PATH", "failed PATH CAUSE", "wrong PATH CAUSE". It ends when it is killed.
 * "small" is the same with files of at most 1 MiB that are neither flushed nor appended to.
 * "verify" reads lines "flushed PATH LENGTH" and "closed PATH LENGTH", and answers each by "right PATH" or "wrong PATH CAUSE".
 */
public final class Mix {
    private static final int PERIOD = 251;
    private static final int WRITERS = 4;
    private static final int KEPT = 6; // files of each writer; older ones are deleted
    private static final int MOST = 1_500_000;
    private static final int MOST_SMALL = 1 << 20;
    private static final int STEP = 200_000;

    private final DistributedFileSystem files;
    private final boolean small;

    private Mix(String[] arguments) throws IOException {
        small = arguments[0].equals("small");
        Configuration conf = new Configuration();
        conf.setBoolean("dfs.client.block.write.replace-datanode-on-failure.best-effort", true);
        for (String argument : arguments) {
            if (argument.contains("=")) {
                conf.set(argument.split("=")[0], argument.split("=")[1]);
            }
        }
        files = (DistributedFileSystem) FileSystem.get(conf);
    }

    private static void say(String kind, Object path, Object what) {
        synchronized (Mix.class) {
            System.out.println(kind + " " + path + " " + what);
        }
    }

    private static byte[] bytes(Path path, long at, int length) {
        int first = Math.floorMod(path.toUri().getPath().hashCode(), PERIOD);
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) ((at + i + first) % PERIOD);
        }
        return bytes;
    }

    // ------------------------------------------------------------------------------------------------------- write

    private void write(String folder, int writer, long seed) {
        Random random = new Random(seed + writer);
        Deque<Path> kept = new ArrayDeque<>();
        for (int number = 0;; number++) {
            Path path = new Path(folder, writer + "-" + number);
            try {
                long length = one(path, random, files.create(path, (short) (2 + random.nextInt(2))), 0);
                if (!small && random.nextInt(3) == 0) {
                    say("flushed", path, length); // it may grow from now on
                    length = one(path, random, files.append(path), length);
                }
                kept.add(path);
                check(path, length);
                if (kept.size() > KEPT) {
                    say("deleting", kept.peek(), "");
                    files.delete(kept.remove(), false);
                }
            } catch (IOException e) {
                say("failed", path, e);
            }
        }
    }

    /** Writes on; gives the length of the closed file. */
    private long one(Path path, Random random, FSDataOutputStream out, long from) throws IOException {
        long at = from;
        try (out) {
            for (long end = from + random.nextInt(small ? MOST_SMALL : MOST); at < end;) {
                int step = (int) Math.min(1 + random.nextInt(STEP), small ? end - at : STEP);
                out.write(bytes(path, at, step));
                at += step;
                switch (small ? 2 : random.nextInt(4)) {
                    case 0 -> out.hflush();
                    case 1 -> out.hsync();
                    default -> {
                        continue;
                    }
                }
                say("flushed", path, at);
            }
        }
        say("closed", path, at);
        return at;
    }

    // ------------------------------------------------------------------------------------------------------ verify

    /** Says what is wrong with a closed file, if anything is. */
    private void check(Path path, long length) throws IOException {
        String wrong = fault(path, length, true);
        if (wrong != null) {
            say("wrong", path, wrong);
        }
    }

    /** Null: all is there. */
    private String fault(Path path, long least, boolean closed) throws IOException {
        long at = 0;
        try (FSDataInputStream in = files.open(path)) {
            byte[] buffer = new byte[64 << 10];
            for (int got = in.read(buffer); got >= 0; got = in.read(buffer)) {
                byte[] right = bytes(path, at, got);
                for (int i = 0; i < got; i++) {
                    if (buffer[i] != right[i]) {
                        return "byte " + (at + i) + " is " + buffer[i] + ", not " + right[i];
                    }
                }
                at += got;
            }
        }
        return at < least || closed && at != least ? "has " + at + " bytes, " + least + " were acknowledged" : null;
    }

    private void verify(String kind, Path path, long length) throws IOException, InterruptedException {
        if (kind.equals("flushed")) {
            while (!files.recoverLease(path)) {
                Thread.sleep(500);
            }
        }
        String wrong = fault(path, length, kind.equals("closed"));
        say(wrong == null ? "right" : "wrong", path, wrong);
    }

    public static void main(String[] arguments) throws Exception {
        Mix mix = new Mix(arguments);
        if (!arguments[0].equals("verify")) {
            for (int writer = 0; writer < WRITERS; writer++) {
                int mine = writer;
                new Thread(() -> mix.write(arguments[1], mine, Long.parseLong(arguments[2]))).start();
            }
            return;
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            mix.verify(words[0], new Path(words[1]), Long.parseLong(words[2]));
        }
    }
}
