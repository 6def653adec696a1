// SPDX-License-Identifier: Apache-2.0
// Writes the TPC-H tables as Parquet files, one folder per table, with exact types.
package org.verbena.ohb.spark;

import io.trino.tpch.TpchColumn;
import io.trino.tpch.TpchColumnType;
import io.trino.tpch.TpchEntity;
import io.trino.tpch.TpchTable;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Date;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The eight tables of TPC-H by the generator of the Trino project. */
final class TpchData {
    private TpchData() {
    }

    static List<String> tableNames() {
        return TpchTable.getTables().stream().map(TpchTable::getTableName).toList();
    }

    /**
     * Writes all tables; a table whose folder is complete is kept.
     *
     * @param scale scale factor, 1.0 is about 1 GB of text
     */
    static void write(SparkSession spark, Path folder, double scale, int parts) {
        for (TpchTable<?> table : TpchTable.getTables()) {
            Path target = folder.resolve(table.getTableName());
            if (!Files.isRegularFile(target.resolve("_SUCCESS"))) {
                writeTable(spark, table, target, scale, parts);
            }
        }
    }

    private static void writeTable(SparkSession spark, TpchTable<?> table, Path target, double scale, int parts) {
        String name = table.getTableName();
        boolean fixed = name.equals("nation") || name.equals("region");
        int count = fixed ? 1 : parts;
        List<Integer> numbers = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            numbers.add(i);
        }
        JavaRDD<Row> rows = JavaSparkContext.fromSparkContext(spark.sparkContext()).parallelize(numbers, count)
            .flatMap(part -> rows(TpchTable.getTable(name), scale, part, count));
        spark.createDataFrame(rows, schema(table)).write().mode(SaveMode.Overwrite).parquet(target.toString());
    }

    private static StructType schema(TpchTable<?> table) {
        StructType schema = new StructType();
        for (TpchColumn<?> column : table.getColumns()) {
            schema = schema.add(column.getColumnName(), type(column.getType()), false);
        }
        return schema;
    }

    private static DataType type(TpchColumnType type) {
        return switch (type.getBase()) {
            case IDENTIFIER -> DataTypes.LongType;
            case INTEGER -> DataTypes.IntegerType;
            case DATE -> DataTypes.DateType;
            case DOUBLE -> DataTypes.createDecimalType(15, 2);
            case VARCHAR -> DataTypes.StringType;
        };
    }

    private static <E extends TpchEntity> Iterator<Row> rows(TpchTable<E> table, double scale, int part, int parts) {
        Iterator<E> entities = table.createGenerator(scale, part, parts).iterator();
        List<TpchColumn<E>> columns = table.getColumns();
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return entities.hasNext();
            }

            @Override
            public Row next() {
                E entity = entities.next();
                Object[] values = new Object[columns.size()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = value(columns.get(i), entity);
                }
                return RowFactory.create(values);
            }
        };
    }

    private static <E extends TpchEntity> Object value(TpchColumn<E> column, E entity) {
        return switch (column.getType().getBase()) {
            case IDENTIFIER -> column.getIdentifier(entity);
            case INTEGER -> column.getInteger(entity);
            case DATE -> Date.valueOf(LocalDate.ofEpochDay(column.getDate(entity)));
            case DOUBLE -> BigDecimal.valueOf(Math.round(column.getDouble(entity) * 100), 2);
            case VARCHAR -> column.getString(entity);
        };
    }
}
