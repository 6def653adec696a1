// SPDX-License-Identifier: Apache-2.0
// Many of Hadoop's commands in one JVM, which is most of what each of them costs: java Resident.java
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Each line of standard input is the class of a Tool and its arguments, with tabs between them. It is answered by
 * "STATUS OUT ERR", and so many bytes of what the command wrote to standard output and to standard error, the log
 * included.
 */
public final class Resident {
    /** What everybody writes to, also those that have asked for System.err once. */
    private static final class Told extends OutputStream {
        private ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            bytes.write(one);
        }

        @Override
        public synchronized void write(byte[] from, int offset, int length) {
            bytes.write(from, offset, length);
        }

        synchronized byte[] take() {
            byte[] all = bytes.toByteArray();
            bytes = new ByteArrayOutputStream();
            return all;
        }
    }

    private Resident() {
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        Told out = new Told();
        Told err = new Told();
        System.setOut(new PrintStream(out, true));
        System.setErr(new PrintStream(err, true));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t", -1);
            int status = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            byte[] said = out.take();
            byte[] logged = err.take();
            answers.print(status + " " + said.length + " " + logged.length + "\n");
            answers.write(said);
            answers.write(logged);
            answers.flush();
        }
    }

    /** As the main of a tool. What it has opened is closed, so that the next one's settings count. */
    private static int run(String name, String[] arguments) throws IOException {
        try {
            Configuration conf = new HdfsConfiguration();
            return ToolRunner.run(conf, tool(Class.forName(name).asSubclass(Tool.class), conf), arguments);
        } catch (Exception e) {
            e.printStackTrace();
            return 1;
        } finally {
            FileSystem.closeAll();
        }
    }

    private static Tool tool(Class<? extends Tool> type, Configuration conf) throws ReflectiveOperationException {
        try {
            return type.getConstructor(Configuration.class).newInstance(conf);
        } catch (NoSuchMethodException e) {
            return type.getConstructor().newInstance();
        }
    }
}
