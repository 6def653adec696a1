// SPDX-License-Identifier: Apache-2.0
// A small stand-in for HBase's shell, which Maven Central does not have. Knows nothing of Verbena.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** Runs the command of its arguments, or those of its input, one a line. */
public final class Console {
    private static final String HELP = "commands: status | list | create TABLE FAMILY... | put TABLE ROW FAMILY:COLUMN VALUE | "
        + "get TABLE ROW | scan TABLE [LIMIT] | delete TABLE ROW | drop TABLE | exit";
    private static final int DEFAULT_LIMIT = 100;
    private static final int PAUSE_MILLIS = 300;

    private final Connection connection;

    private Console(Connection connection) {
        this.connection = connection;
    }

    public static void main(String[] words) throws IOException, InterruptedException {
        Configuration conf = HBaseConfiguration.create();
        if (words.length > 0 && List.of("status", "await").contains(words[0])) { // of a cluster that may be starting
            conf.setInt("hbase.client.retries.number", 1);
            conf.setInt("hbase.client.operation.timeout", 10_000);
            conf.setInt("hbase.client.meta.operation.timeout", 10_000);
            conf.setInt("zookeeper.recovery.retry", 1);
        }
        if (words.length > 0 && words[0].equals("await")) {
            await(conf, List.of(words).subList(1, words.length));
            return;
        }
        boolean ok;
        try (Connection connection = ConnectionFactory.createConnection(conf)) {
            Console console = new Console(connection);
            ok = words.length > 0 ? console.command(words) : console.lines();
        } catch (IOException e) {
            System.out.println(e.getMessage());
            ok = false;
        }
        System.exit(ok ? 0 : 1);
    }

    /** Asks anew until the master knows all region servers, given as PORT=MILLIS, its least start; tells the lack. */
    private static void await(Configuration conf, List<String> servers) throws InterruptedException {
        for (;;) {
            try (Connection connection = ConnectionFactory.createConnection(conf);
                    Admin admin = connection.getAdmin()) {
                String lack = lack(admin, servers);
                while (lack != null) {
                    System.out.println(lack);
                    Thread.sleep(PAUSE_MILLIS);
                    lack = lack(admin, servers);
                }
                return;
            } catch (IOException e) {
                System.out.println(String.valueOf(e.getMessage()).lines().findFirst().orElse("no answer"));
            }
            Thread.sleep(PAUSE_MILLIS);
        }
    }

    private static String lack(Admin admin, List<String> servers) throws IOException {
        Set<ServerName> live = admin.getClusterMetrics().getLiveServerMetrics().keySet();
        for (String server : servers) {
            int port = Integer.parseInt(server.split("=")[0]);
            long since = Long.parseLong(server.split("=")[1]);
            if (live.stream().noneMatch(one -> one.getPort() == port && one.getStartcode() >= since)) {
                return "the region server at port " + port + " is not registered, but " + live;
            }
        }
        return admin.tableExists(TableName.META_TABLE_NAME) ? null : "no table of tables yet";
    }

    private boolean lines() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        boolean ok = true;
        boolean asked = System.console() != null;
        System.out.print(asked ? HELP + "\nhbase> " : "");
        for (String line = in.readLine(); line != null && !line.strip().equals("exit"); line = in.readLine()) {
            ok &= line.isBlank() || command(line.strip().split("\\s+"));
            System.out.print(asked ? "hbase> " : "");
        }
        return ok;
    }

    private boolean command(String[] words) {
        try {
            return run(words[0], Arrays.copyOfRange(words, 1, words.length));
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println("too few words; " + HELP);
        } catch (IOException | IllegalArgumentException e) {
            System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
        return false;
    }

    private boolean run(String command, String[] words) throws IOException {
        switch (command) {
        case "status":
            return status(words.length > 0 ? Integer.parseInt(words[0]) : 1);
        case "list":
            for (TableName name : connection.getAdmin().listTableNames()) {
                System.out.println(name);
            }
            return true;
        case "create":
            create(words);
            return true;
        case "drop":
            try (Admin admin = connection.getAdmin()) {
                admin.disableTable(TableName.valueOf(words[0]));
                admin.deleteTable(TableName.valueOf(words[0]));
            }
            return true;
        case "put", "get", "scan", "delete":
            try (Table table = connection.getTable(TableName.valueOf(words[0]))) {
                row(command, table, words);
            }
            return true;
        default:
            System.out.println("unknown command '" + command + "'; " + HELP);
            return false;
        }
    }

    private boolean status(int servers) throws IOException {
        try (Admin admin = connection.getAdmin()) {
            ClusterMetrics metrics = admin.getClusterMetrics();
            int live = metrics.getLiveServerMetrics().size();
            System.out.println("master " + metrics.getMasterName() + ", " + live + " of " + servers + " region servers, "
                + metrics.getRegionCount() + " regions");
            return live >= servers && admin.tableExists(TableName.META_TABLE_NAME);
        }
    }

    private void create(String[] words) throws IOException {
        TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(TableName.valueOf(words[0]));
        table.setColumnFamily(ColumnFamilyDescriptorBuilder.of(words[1]));
        for (int i = 2; i < words.length; i++) {
            table.setColumnFamily(ColumnFamilyDescriptorBuilder.of(words[i]));
        }
        try (Admin admin = connection.getAdmin()) {
            admin.createTable(table.build());
        }
    }

    private static void row(String command, Table table, String[] words) throws IOException {
        if (command.equals("scan")) {
            Scan scan = new Scan().setLimit(words.length > 1 ? Integer.parseInt(words[1]) : DEFAULT_LIMIT);
            try (ResultScanner rows = table.getScanner(scan)) {
                rows.forEach(Console::print);
            }
            return;
        }
        byte[] row = Bytes.toBytes(words[1]);
        if (command.equals("put")) {
            byte[][] column = CellUtil.parseColumn(Bytes.toBytes(words[2]));
            table.put(new Put(row).addColumn(column[0], column.length > 1 ? column[1] : new byte[0], Bytes.toBytes(words[3])));
        } else if (command.equals("get")) {
            print(table.get(new Get(row)));
        } else {
            table.delete(new Delete(row));
        }
    }

    private static void print(Result result) {
        if (result.isEmpty()) {
            return;
        }
        for (Cell cell : result.rawCells()) {
            System.out.println(Bytes.toString(CellUtil.cloneRow(cell)) + " " + Bytes.toString(CellUtil.cloneFamily(cell)) + ":"
                + Bytes.toString(CellUtil.cloneQualifier(cell)) + " " + Bytes.toString(CellUtil.cloneValue(cell)));
        }
    }
}
