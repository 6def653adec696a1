// SPDX-License-Identifier: Apache-2.0
// The row queries: many different SQL queries over little data, each run once.
package org.verbena.ohb.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * What people who explore data do: every query has another plan and other generated code, and moves little, so that what it
 * costs is what happens once (planning, compiling, scheduling, first uses). All joins go through the shuffle.
 */
final class ShortQueries implements Job {
    private static final int NUMBERS = 8; // columns n0 to n7, with some 3 to 200 different values
    private final SparkSession spark;
    private final int rows;
    private final int queries;
    private Dataset<Row> table;

    ShortQueries(SparkSession spark, Params params) {
        this.spark = spark.newSession();
        this.spark.conf().set("spark.sql.shuffle.partitions", params.count("reducers"));
        this.spark.conf().set("spark.sql.autoBroadcastJoinThreshold", "-1");
        this.rows = params.count("rows");
        this.queries = params.count("queries");
    }

    @Override
    public void prepare() {
        List<String> columns = new ArrayList<>(List.of("id", "pmod(xxhash64(id), " + rows + ") AS k",
            "sha2(string(id), 256) AS t"));
        for (int n = 0; n < NUMBERS; n++) {
            columns.add("pmod(xxhash64(id, " + n + "L), " + (3 + 4 * n * n) + ") AS n" + n);
        }
        table = spark.range(0, rows, 1, 2).selectExpr(columns.toArray(String[]::new)).cache();
        table.createOrReplaceTempView("data");
        if (table.count() != rows) {
            throw new IllegalStateException("the table has not " + rows + " rows");
        }
    }

    @Override
    public ContentSum run(long seed) {
        ContentSum sum = new ContentSum();
        for (int i = 0; i < queries; i++) {
            String query = query(new SplittableRandom(seed * 1_000_003L + i));
            for (Row row : spark.sql(query).collectAsList()) {
                sum.add(i + "|" + row.mkString("|"));
            }
        }
        return sum;
    }

    /** One of six shapes over random columns, with a random expression that no other query has. */
    private static String query(SplittableRandom random) {
        String a = column(random);
        String b = column(random);
        String c = column(random);
        String value = a + " * " + random.nextInt(2, 1000) + " + " + b + " - " + random.nextInt(1000);
        String some = "pmod(xxhash64(id, " + random.nextInt() + "L), 4) < " + random.nextInt(1, 4);
        return switch (random.nextInt(6)) {
            case 0 -> "SELECT " + a + ", count(*), sum(" + value + "), max(t) FROM data WHERE " + some + " GROUP BY " + a;
            case 1 -> "SELECT x." + a + ", y." + b + ", count(*), min(y.t) FROM data x JOIN data y ON x.id = y.k WHERE pmod(x.id, "
                + random.nextInt(2, 50) + ") = 1 GROUP BY 1, 2";
            case 2 -> "SELECT " + c + ", count(DISTINCT " + a + ", " + b + ") FROM data WHERE " + some + " GROUP BY " + c;
            case 3 -> "SELECT id, v, r FROM (SELECT id, " + value + " AS v, rank() OVER (PARTITION BY " + c
                + " ORDER BY k, id) AS r "
                + "FROM data WHERE " + some + ") WHERE r < 5";
            case 4 -> "SELECT id, " + value + " AS v FROM data WHERE " + some + " ORDER BY v, id LIMIT 50";
            default -> "SELECT " + b + ", sum(" + value + ") FROM data WHERE " + some + " AND k IN (SELECT k FROM data WHERE " + c
                + " > 1) GROUP BY " + b;
        };
    }

    private static String column(SplittableRandom random) {
        return "n" + random.nextInt(NUMBERS);
    }

    @Override
    public void release() {
        table.unpersist(true);
    }
}
