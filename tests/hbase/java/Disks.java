// SPDX-License-Identifier: Apache-2.0
// Reads of two tables, one of whose files a test lets stand still. Knows nothing of Verbena.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Each line of input is a command, which is answered by "done": "write" makes the tables, with a row each that lies in a file;
 * "get TABLE N" reads the row N times; "begin TABLE" begins to read it, and "end" waits for that.
 */
public final class Disks {
    private static final byte[] NAME = Bytes.toBytes("f");

    private static byte[] value(String table) {
        return Bytes.toBytes("the row of " + table);
    }

    private static void write(Connection connection) throws Exception {
        try (Admin admin = connection.getAdmin()) {
            for (String name : List.of("still", "moving")) {
                admin.createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf(name))
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.of(NAME)).build());
                try (Table table = connection.getTable(TableName.valueOf(name))) {
                    table.put(new Put(NAME).addColumn(NAME, NAME, value(name)));
                }
                admin.flush(TableName.valueOf(name));
            }
        }
    }

    private static void get(Connection connection, String name, int times) throws Exception {
        try (Table table = connection.getTable(TableName.valueOf(name))) {
            for (int i = 0; i < times; i++) {
                if (!Bytes.equals(value(name), table.get(new Get(NAME)).getValue(NAME, NAME))) {
                    throw new IllegalStateException("the row of " + name + " is not what was written");
                }
            }
        }
    }

    private static CompletableFuture<Void> begin(Connection connection, String name) {
        return CompletableFuture.runAsync(() -> {
            try {
                get(connection, name, 1);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        CompletableFuture<Void> begun = null;
        try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create())) {
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                String[] words = line.split(" ");
                switch (words[0]) {
                    case "write" -> write(connection);
                    case "get" -> get(connection, words[1], Integer.parseInt(words[2]));
                    case "begin" -> begun = begin(connection, words[1]);
                    case "end" -> begun.get();
                    default -> throw new IllegalArgumentException(line);
                }
                System.out.println("done");
            }
        }
    }
}
