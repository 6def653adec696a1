// SPDX-License-Identifier: Apache-2.0
// A program of HDFS' public API whose moments a test chooses: java Writer.java PATH [PROPERTY=VALUE ...]
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.net.NetUtils;

/**
 * Each line of standard input is a command: "flush N" and "sync N" write the next N bytes and call hflush or hsync,
 * "write N" only writes, "close" closes. Each is answered by "done TOTAL" when it has returned. Byte i of the file is i % 251.
 * The property "favoured" names DataNodes that the file prefers.
 */
public final class Writer {
    private static FSDataOutputStream create(DistributedFileSystem files, Path path, Configuration conf) throws IOException {
        String[] favoured = conf.getTrimmedStrings("favoured");
        return favoured.length == 0 ? files.create(path) : files.createFile(path)
            .favoredNodes(Arrays.stream(favoured).map(NetUtils::createSocketAddr).toArray(InetSocketAddress[]::new)).build();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Configuration conf = new Configuration();
        for (int i = 1; i < arguments.length; i++) {
            conf.set(arguments[i].split("=")[0], arguments[i].split("=")[1]);
        }
        FileSystem files = FileSystem.get(conf);
        long total = 0;
        try (FSDataOutputStream out = create((DistributedFileSystem) files, new Path(arguments[0]), conf)) {
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                String[] words = line.split(" ");
                byte[] bytes = new byte[words.length > 1 ? Integer.parseInt(words[1]) : 0];
                for (int i = 0; i < bytes.length; i++) {
                    bytes[i] = (byte) ((total + i) % 251);
                }
                out.write(bytes);
                total += bytes.length;
                switch (words[0]) {
                    case "flush" -> out.hflush();
                    case "sync" -> out.hsync();
                    case "close" -> out.close();
                    default -> { }
                }
                System.out.println("done " + total);
            }
        }
    }
}
