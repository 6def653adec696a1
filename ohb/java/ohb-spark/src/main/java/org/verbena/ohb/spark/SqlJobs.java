// SPDX-License-Identifier: Apache-2.0
// Rows over Spark SQL: smj (sort-merge join and aggregation), skewed (one key has most rows) and the TPC-H queries.
package org.verbena.ohb.spark;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/** Jobs of the SQL API. Results are exact types (decimals, integers, text), never floating point. */
final class SqlJobs {
    private SqlJobs() {
    }

    static Job sortMergeJoin(SparkSession spark, Params params) {
        long left = params.count("left");
        long right = params.count("right");
        int groups = params.count("groups");
        return new SqlJob() {
            @Override
            public ContentSum run(long seed) {
                Dataset<Row> a = wideRows(spark, left, right, seed, "a");
                Dataset<Row> b = wideRows(spark, right, right, seed + 1, "b");
                Dataset<Row> joined = a.join(b.hint("merge"), a.col("a_key").equalTo(b.col("b_key")));
                return sum(joined.groupBy(functions.expr("a_key % " + groups).as("bucket")).agg(
                    functions.count("*"), functions.sum(functions.expr("length(a_text) + length(b_text)")),
                    functions.max("a_text"), functions.min("b_text")));
            }
        };
    }

    /** A join over many partitions, of which one key fills one: adaptive execution must split it. */
    static Job skewed(SparkSession spark, Params params) {
        long rows = params.count("rows");
        long keys = params.count("keys");
        SparkSession own = spark.newSession();
        own.conf().set("spark.sql.shuffle.partitions", params.count("reducers"));
        own.conf().set("spark.sql.autoBroadcastJoinThreshold", "-1");
        own.conf().set("spark.sql.adaptive.advisoryPartitionSizeInBytes", params.text("part"));
        own.conf().set("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", params.text("part"));
        return new SqlJob() {
            @Override
            public ContentSum run(long seed) {
                Dataset<Row> many = wideRows(own, rows, keys, seed, "a").selectExpr("if(a_key % 4 = 0, a_key, 1) AS a_key",
                    "a_text");
                Dataset<Row> few = own.range(0, keys, 1, 8).selectExpr("id AS b_key", "id * 7 AS b_value");
                Dataset<Row> joined = many.join(few, many.col("a_key").equalTo(few.col("b_key"))).groupBy("b_value").agg(
                    functions.count("*"), functions.max("a_text"));
                ContentSum sum = sum(joined);
                String plan = joined.queryExecution().executedPlan().toString();
                if (!plan.contains("skew=true")) {
                    throw new IllegalStateException("adaptive execution has split nothing:\n" + plan);
                }
                return sum;
            }
        };
    }

    static Job tpch(SparkSession spark, Params params) {
        Path data = Path.of(params.text("data"));
        String query = TpchQueries.text(params.text("query"));
        return new SqlJob() {
            @Override
            public void prepare() {
                for (String table : TpchData.tableNames()) {
                    Path folder = data.resolve(table);
                    if (!Files.isRegularFile(folder.resolve("_SUCCESS"))) {
                        throw new IllegalStateException("no TPC-H table in " + folder + ": run 'SparkJobs gen' first");
                    }
                    spark.read().parquet(folder.toString()).createOrReplaceTempView(table);
                }
            }

            @Override
            public ContentSum run(long seed) {
                return sum(spark.sql(query));
            }
        };
    }

    private abstract static class SqlJob implements Job {
        @Override
        public void prepare() {
            // smj generates its input inside the measured map tasks
        }

        @Override
        public void release() {
            // nothing is cached
        }
    }

    private static Dataset<Row> wideRows(SparkSession spark, long rows, long keys, long seed, String prefix) {
        return spark.range(0, rows, 1, 8).selectExpr(
            "pmod(xxhash64(id, " + seed + "L), " + keys + ") AS " + prefix + "_key",
            "concat(sha2(cast(id + " + seed + " AS string), 256), lpad(cast(id AS string), 16, '0')) AS "
                + prefix + "_text");
    }

    private static ContentSum sum(Dataset<Row> result) {
        ContentSum sum = new ContentSum();
        for (Row row : result.collectAsList()) {
            sum.add(row.mkString("|"));
        }
        return sum;
    }
}
