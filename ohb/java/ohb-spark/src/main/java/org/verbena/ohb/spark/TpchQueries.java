// SPDX-License-Identifier: Apache-2.0
// Some queries of the TPC-H specification, in our own words, with total orders so that results compare exactly.
package org.verbena.ohb.spark;

import java.util.Map;
import java.util.TreeMap;

/** Texts of the queries by name. Parameters are the validation values of the specification. */
final class TpchQueries {
    private static final String Q1 = """
        SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS quantity, SUM(l_extendedprice) AS base_price,
               SUM(l_extendedprice * (1 - l_discount)) AS net_price,
               SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge,
               AVG(l_quantity) AS mean_quantity, AVG(l_extendedprice) AS mean_price,
               AVG(l_discount) AS mean_discount, COUNT(*) AS items
        FROM lineitem
        WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAYS
        GROUP BY l_returnflag, l_linestatus
        ORDER BY l_returnflag, l_linestatus
        """;
    private static final String Q3 = """
        SELECT o_orderkey, o_orderdate, o_shippriority, SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM orders
        JOIN customer ON c_custkey = o_custkey AND c_mktsegment = 'BUILDING'
        JOIN lineitem ON l_orderkey = o_orderkey AND l_shipdate > DATE '1995-03-15'
        WHERE o_orderdate < DATE '1995-03-15'
        GROUP BY o_orderkey, o_orderdate, o_shippriority
        ORDER BY revenue DESC, o_orderdate, o_orderkey
        LIMIT 10
        """;
    private static final String Q5 = """
        SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM region
        JOIN nation ON n_regionkey = r_regionkey
        JOIN supplier ON s_nationkey = n_nationkey
        JOIN lineitem ON l_suppkey = s_suppkey
        JOIN orders ON o_orderkey = l_orderkey
        JOIN customer ON c_custkey = o_custkey AND c_nationkey = s_nationkey
        WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
        GROUP BY n_name
        ORDER BY revenue DESC, n_name
        """;
    private static final String Q9 = """
        WITH gain AS (
            SELECT n_name AS nation, YEAR(o_orderdate) AS order_year,
                   l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
            FROM lineitem
            JOIN part ON p_partkey = l_partkey AND CONTAINS(p_name, 'green')
            JOIN supplier ON s_suppkey = l_suppkey
            JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
            JOIN orders ON o_orderkey = l_orderkey
            JOIN nation ON n_nationkey = s_nationkey)
        SELECT nation, order_year, SUM(amount) AS profit
        FROM gain
        GROUP BY nation, order_year
        ORDER BY nation, order_year DESC
        """;
    private static final String Q18 = """
        WITH large AS (
            SELECT l_orderkey AS large_key FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300)
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) AS quantity
        FROM orders
        JOIN large ON large_key = o_orderkey
        JOIN customer ON c_custkey = o_custkey
        JOIN lineitem ON l_orderkey = o_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate, o_orderkey
        LIMIT 100
        """;
    private static final Map<String, String> TEXTS =
        new TreeMap<>(Map.of("q1", Q1, "q3", Q3, "q5", Q5, "q9", Q9, "q18", Q18));

    private TpchQueries() {
    }

    static String text(String name) {
        String text = TEXTS.get(name);
        if (text == null) {
            throw new IllegalArgumentException("no TPC-H query '" + name + "'; there are " + TEXTS.keySet());
        }
        return text;
    }
}
