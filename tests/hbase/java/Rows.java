// SPDX-License-Identifier: Apache-2.0
// An ordinary client program that checks what it reads. Knows nothing of Verbena.
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** Rows check TABLE ROWS: all kinds of calls. Rows write TABLE: puts without end, telling which were acknowledged. Rows verify
 *  TABLE ROWS: every row is there. Rows flood TABLE: many large reads at a time, without end. Rows rest TABLE: a put and a
 * get, then
 *  nothing, with the connection open. */
public final class Rows {
    private static final byte[] FAMILY = Bytes.toBytes("f");
    private static final byte[] COLUMN = Bytes.toBytes("c");
    private static final int REGIONS = 4;
    private static final int LARGE = 5 << 20;

    private final Connection connection;
    private final TableName name;

    private Rows(Connection connection, String name) {
        this.connection = connection;
        this.name = TableName.valueOf(name);
    }

    public static void main(String[] words) throws Exception {
        try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create())) {
            Rows rows = new Rows(connection, words[1]);
            switch (words[0]) {
            case "check" -> rows.check(Integer.parseInt(words[2]));
            case "write" -> rows.write();
            case "verify" -> rows.verify(Integer.parseInt(words[2]));
            case "flood" -> rows.flood();
            case "rest" -> rows.rest();
            default -> throw new IllegalArgumentException("check, write, verify, flood or rest, not " + words[0]);
            }
        }
    }

    private void create() throws IOException {
        try (Admin admin = connection.getAdmin()) {
            if (!admin.tableExists(name)) {
                byte[][] splits = new byte[REGIONS - 1][];
                for (int i = 1; i < REGIONS; i++) {
                    splits[i - 1] = new byte[] {(byte) (256 / REGIONS * i)};
                }
                admin.createTable(TableDescriptorBuilder.newBuilder(name)
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build(), splits);
            }
        }
    }

    /** Spread over all regions. */
    private static byte[] row(int number) {
        byte[] row = Bytes.toBytes("?" + number);
        row[0] = (byte) (number * 37);
        return row;
    }

    private static byte[] value(int number, int bytes) {
        byte[] value = new byte[bytes];
        new Random(number).nextBytes(value);
        return value;
    }

    private static Put put(int number) {
        return new Put(row(number)).addColumn(FAMILY, COLUMN, value(number, 100 + number % 2000));
    }

    private static void same(int number, Result result, int bytes) {
        if (!Bytes.equals(value(number, bytes), result.getValue(FAMILY, COLUMN))) {
            throw new IllegalStateException("row " + number + " differs from the value that was written: " + result);
        }
    }

    private static void that(boolean right, String what) {
        if (!right) {
            throw new IllegalStateException(what);
        }
    }

    private void flood() throws Exception {
        create();
        try (Table table = connection.getTable(name)) {
            table.put(new Put(row(1)).addColumn(FAMILY, COLUMN, value(1, 1 << 20)));
        }
        try (AsyncConnection async = ConnectionFactory.createAsyncConnection(HBaseConfiguration.create()).get()) {
            for (int round = 0;; round++) {
                List<CompletableFuture<Result>> results = new ArrayList<>();
                for (int i = 0; i < 32; i++) {
                    results.add(async.getTable(name).get(new Get(row(1))));
                }
                for (CompletableFuture<Result> result : results) {
                    same(1, result.get(), 1 << 20);
                }
                System.out.println(round);
            }
        }
    }

    private void rest() throws Exception {
        create();
        try (Table table = connection.getTable(name)) {
            table.put(put(1));
            same(1, table.get(new Get(row(1))), 101);
            System.out.println(0);
            Thread.currentThread().join();
        }
    }

    private void check(int count) throws Exception {
        create();
        try (Table table = connection.getTable(name)) {
            for (int i = 0; i < count; i++) {
                table.put(put(i));
                same(i, table.get(new Get(row(i))), 100 + i % 2000);
            }
            batches(table, count);
            scan(table, 2 * count);
            atomic(table);
            large(table);
        }
        asynchronous(count);
        System.out.println("checked " + count);
    }

    private static void batches(Table table, int count) throws IOException {
        List<Put> puts = new ArrayList<>();
        List<Get> gets = new ArrayList<>();
        for (int i = count; i < 2 * count; i++) {
            puts.add(put(i));
            gets.add(new Get(row(i)));
        }
        table.put(puts);
        Result[] results = table.get(gets);
        for (int i = 0; i < count; i++) {
            same(count + i, results[i], 100 + (count + i) % 2000);
        }
        that(!table.exists(new Get(Bytes.toBytes("nobody"))), "a row that nobody wrote exists");
    }

    private static void scan(Table table, int count) throws IOException {
        int seen = 0;
        try (ResultScanner rows = table.getScanner(new Scan().setCaching(50))) {
            for (Result result : rows) {
                int number = Integer.parseInt(Bytes.toString(result.getRow(), 1));
                same(number, result, 100 + number % 2000);
                seen++;
            }
        }
        that(seen == count, "a scan saw " + seen + " of " + count + " rows");
    }

    private static void atomic(Table table) throws IOException {
        byte[] row = Bytes.toBytes("atomic");
        for (int i = 1; i <= 20; i++) {
            long now = Bytes.toLong(table.increment(new Increment(row).addColumn(FAMILY, COLUMN, 3)).getValue(FAMILY, COLUMN));
            that(now == 3L * i, "incremented to " + now);
        }
        Put put = new Put(row).addColumn(FAMILY, COLUMN, Bytes.toBytes(1L));
        that(!table.checkAndMutate(CheckAndMutate.newBuilder(row).ifEquals(FAMILY, COLUMN, Bytes.toBytes(2L)).build(put))
            .isSuccess(), "a condition that does not hold");
        that(table.checkAndMutate(CheckAndMutate.newBuilder(row).ifEquals(FAMILY, COLUMN, Bytes.toBytes(60L)).build(put))
            .isSuccess(), "a condition that holds");
        table.delete(new Delete(row));
        that(table.get(new Get(row)).isEmpty(), "a deleted row is there");
    }

    private static void large(Table table) throws IOException {
        byte[] row = Bytes.toBytes("large");
        table.put(new Put(row).addColumn(FAMILY, COLUMN, value(-1, LARGE)));
        same(-1, table.get(new Get(row)), LARGE);
        table.delete(new Delete(row));
    }

    private void asynchronous(int count) throws Exception {
        try (AsyncConnection async = ConnectionFactory.createAsyncConnection(connection.getConfiguration()).get()) {
            AsyncTable<?> table = async.getTable(name);
            List<CompletableFuture<Result>> results = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int number = i;
                results.add(table.put(put(i)).thenCompose(done -> table.get(new Get(row(number)))));
            }
            for (int i = 0; i < count; i++) {
                same(i, results.get(i).get(), 100 + i % 2000);
            }
        }
    }

    private void write() throws IOException {
        create();
        try (Table table = connection.getTable(name)) {
            for (int i = 0;; i++) {
                table.put(put(i));
                System.out.println(i);
            }
        }
    }

    private void verify(int count) throws IOException {
        try (Table table = connection.getTable(name)) {
            for (int i = 0; i < count; i++) {
                same(i, table.get(new Get(row(i))), 100 + i % 2000);
            }
        }
        System.out.println("verified " + count);
    }
}
