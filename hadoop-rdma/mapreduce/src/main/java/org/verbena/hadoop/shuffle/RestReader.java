// SPDX-License-Identifier: Apache-2.0
// What the stock merge manager has merged, as one more segment.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.mapred.IFile;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;

/** Belongs to the thread that merges. */
final class RestReader<K, V> extends IFile.Reader<K, V> {
    private final RawKeyValueIterator records;

    RestReader(JobConf conf, RawKeyValueIterator records) throws IOException {
        super(conf, null, 0, null, null);
        this.records = records;
    }

    private void pass(DataInputBuffer from, DataInputBuffer to) {
        int length = from.getLength() - from.getPosition();
        to.reset(from.getData(), from.getPosition(), length);
        bytesRead += length;
    }

    @Override
    public boolean nextRawKey(DataInputBuffer key) throws IOException {
        if (!records.next()) {
            return false;
        }
        pass(records.getKey(), key);
        return true;
    }

    @Override
    public void nextRawValue(DataInputBuffer value) throws IOException {
        pass(records.getValue(), value);
    }

    @Override
    public long getPosition() {
        return bytesRead;
    }

    @Override
    public long getLength() {
        return bytesRead;
    }

    @Override
    public void close() throws IOException {
        records.close();
    }
}
