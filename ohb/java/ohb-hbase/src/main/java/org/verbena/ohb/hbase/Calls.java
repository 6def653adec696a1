// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hbase;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;

/** Calls of one table by threads that share a connection; what is read is compared with what was written. */
final class Calls implements AutoCloseable {
    private static final TableName TABLE = TableName.valueOf("ohb");
    private static final byte[] FAMILY = {'f'};
    private static final byte[] COLUMN = {'c'};
    private static final int CACHED = 100;

    private final Connection connection;
    private final Configuration conf;
    private AsyncConnection async; // made by the first call that needs it
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private byte[][] values = {};

    Calls(Configuration conf) throws IOException {
        this.conf = conf;
        connection = ConnectionFactory.createConnection(conf);
    }

    private synchronized AsyncTable<?> asyncTable() {
        if (async == null) {
            async = ConnectionFactory.createAsyncConnection(conf).join();
        }
        return async.getTable(TABLE);
    }

    private static byte[] row(int number) {
        return String.format("row%09d", number).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
    }

    /** Another value than the row had; each row is one thread's. */
    private Put changed(int number) {
        values[number][0]++;
        return put(number);
    }

    private Put put(int number) {
        return new Put(row(number)).addColumn(FAMILY, COLUMN, values[number]);
    }

    /** Makes the table and its rows. */
    void fill(int rows, int bytes) throws IOException {
        values = new byte[rows][bytes];
        List<Put> puts = new ArrayList<>();
        try (Admin admin = connection.getAdmin()) {
            if (!admin.tableExists(TABLE)) {
                admin.createTable(TableDescriptorBuilder.newBuilder(TABLE)
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build());
            }
        }
        for (int i = 0; i < rows; i++) {
            new Random(i).nextBytes(values[i]);
            puts.add(put(i));
        }
        try (Table table = connection.getTable(TABLE)) {
            table.put(puts);
        }
    }

    /** Makes so many calls in each of the threads. Returns nanoseconds of each call. */
    long[] run(String what, int calls, int count) throws IOException {
        List<Future<long[]>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int thread = i;
            all.add(threads.submit(() -> one(what, calls, thread, count)));
        }
        long[] times = new long[calls * count];
        try {
            for (int i = 0; i < count; i++) {
                System.arraycopy(all.get(i).get(), 0, times, i * calls, calls);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IOException(e.getCause().getMessage(), e.getCause());
        }
        return times;
    }

    private long[] one(String what, int calls, int thread, int count) throws IOException {
        long[] times = new long[calls];
        Random random = new Random(thread);
        AsyncTable<?> asyncTable = what.equals("aget") ? asyncTable() : null;
        try (Table table = connection.getTable(TABLE)) {
            for (int i = 0; i < calls; i++) {
                int number = random.nextInt(values.length / count) * count + thread;
                long start = System.nanoTime();
                call(table, asyncTable, what, number);
                times[i] = System.nanoTime() - start;
            }
        }
        return times;
    }

    private void call(Table table, AsyncTable<?> asyncTable, String what, int number) throws IOException {
        switch (what) {
        case "exists" -> {
            if (table.exists(new Get(row(-1 - number)))) {
                throw new IOException("a row that was not written exists");
            }
        }
        case "get" -> check(number, table.get(new Get(row(number))));
        case "aget" -> check(number, asyncTable.get(new Get(row(number))).join());
        case "put" -> table.put(changed(number));
        case "scan" -> scan(table, number);
        default -> throw new IllegalArgumentException("unknown command; known are fill, exists, get, aget, put, scan, quit");
        }
    }

    /** As many rows as one answer holds. */
    private void scan(Table table, int from) throws IOException {
        int number = Math.min(from, values.length - CACHED);
        try (ResultScanner rows = table.getScanner(new Scan().withStartRow(row(number)).setCaching(CACHED).setLimit(CACHED))) {
            int end = number + CACHED;
            for (Result result : rows) {
                check(number++, result);
            }
            if (number != end) {
                throw new IOException("a scan ended " + (end - number) + " rows early");
            }
        }
    }

    /** Compares all rows with what was put last. */
    void checkAll() throws IOException {
        int number = 0;
        try (Table table = connection.getTable(TABLE); ResultScanner rows = table.getScanner(new Scan().setCaching(CACHED))) {
            for (Result result : rows) {
                check(number++, result);
            }
        }
        if (number != values.length) {
            throw new IOException("the table has " + number + " rows of " + values.length);
        }
    }

    private void check(int number, Result result) throws IOException {
        if (!Arrays.equals(values[number], result.getValue(FAMILY, COLUMN))) {
            throw new IOException("row " + number + " differs from the value that was written");
        }
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        synchronized (this) {
            if (async != null) {
                async.close();
            }
        }
        connection.close();
    }
}
