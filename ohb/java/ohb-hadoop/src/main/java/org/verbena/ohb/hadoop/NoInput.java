// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import java.io.DataInput;
import java.io.DataOutput;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** As many empty splits as the job wants maps. */
public final class NoInput extends InputFormat<NullWritable, NullWritable> {
    /** Nothing, of nowhere. */
    public static final class Empty extends InputSplit implements Writable {
        @Override
        public long getLength() {
            return 0;
        }

        @Override
        public String[] getLocations() {
            return new String[0];
        }

        @Override
        public void write(DataOutput out) {
            // it has no state
        }

        @Override
        public void readFields(DataInput in) {
            // it has no state
        }
    }

    @Override
    public List<InputSplit> getSplits(JobContext context) {
        List<InputSplit> splits = new ArrayList<>();
        for (int i = context.getConfiguration().getInt(MrBench.MAPS, 1); i > 0; i--) {
            splits.add(new Empty());
        }
        return splits;
    }

    @Override
    public RecordReader<NullWritable, NullWritable> createRecordReader(InputSplit split, TaskAttemptContext context) {
        return new RecordReader<>() {
            @Override
            public void initialize(InputSplit of, TaskAttemptContext in) {
                // nothing to open
            }

            @Override
            public boolean nextKeyValue() {
                return false;
            }

            @Override
            public NullWritable getCurrentKey() {
                return NullWritable.get();
            }

            @Override
            public NullWritable getCurrentValue() {
                return NullWritable.get();
            }

            @Override
            public float getProgress() {
                return 1;
            }

            @Override
            public void close() {
                // nothing is open
            }
        };
    }
}
