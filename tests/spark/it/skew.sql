-- SPDX-License-Identifier: Apache-2.0
-- Key 1 has three of four rows of the left side: one of 2,000 partitions is large, and adaptive execution splits it.
SET spark.sql.shuffle.partitions=2000;
SET spark.sql.autoBroadcastJoinThreshold=-1;
SET spark.sql.adaptive.advisoryPartitionSizeInBytes=1m;
SET spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes=1m;
CREATE TEMPORARY VIEW many AS
SELECT if(id % 4 = 0, id % 5000, 1) AS a, concat(sha2(cast(id AS STRING), 256), id) AS text FROM range(0, 400000, 1, 8);
CREATE TEMPORARY VIEW few AS SELECT id AS b, id * 7 AS v FROM range(0, 5000, 1, 8);
SELECT v, count(*), max(text), sum(length(text)) FROM many JOIN few ON a = b GROUP BY v ORDER BY v;
SELECT count(*), sum(n) FROM (SELECT text, count(*) AS n FROM many GROUP BY text);
SELECT v, rank() OVER (PARTITION BY v % 10 ORDER BY v DESC) AS place FROM many JOIN few ON a = b WHERE v % 3 = 0 ORDER BY v, place LIMIT 50;
