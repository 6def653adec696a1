// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;

/** Records of segments that lie outside the heap, as maps write them and mutated. */
class KeptReaderTest {
    private final JobConf conf = new JobConf(false);

    /** IFile without its checksum: two lengths, key, value; -1 and -1 at the end. */
    private static byte[] segment(byte[][] keys, byte[][] values) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        for (int i = 0; i < keys.length; i++) {
            WritableUtils.writeVInt(out, keys[i].length);
            WritableUtils.writeVInt(out, values[i].length);
            out.write(keys[i]);
            out.write(values[i]);
        }
        WritableUtils.writeVInt(out, -1);
        WritableUtils.writeVInt(out, -1);
        return bytes.toByteArray();
    }

    private KeptReader<?, ?> reader(byte[] segment, int others) throws IOException {
        ByteBuffer outside = ByteBuffer.allocateDirect(segment.length).put(segment).flip();
        return new KeptReader<>(conf, outside, new MergeHeap(others));
    }

    private static byte[] content(DataInputBuffer buffer) {
        return Arrays.copyOfRange(buffer.getData(), buffer.getPosition(), buffer.getLength());
    }

    @Test
    void records_of_all_sizes_come_as_they_were_written() throws Exception {
        Random random = new Random(1);
        int[] sizes = {0, 1, 127, 128, 255, 256, 65_535, 65_536, 70_000, 1, 300_000, 0, 5};
        byte[][] keys = new byte[sizes.length][];
        byte[][] values = new byte[sizes.length][];
        for (int i = 0; i < sizes.length; i++) {
            random.nextBytes(keys[i] = new byte[sizes[i]]);
            random.nextBytes(values[i] = new byte[sizes[sizes.length - 1 - i]]);
        }
        byte[] segment = segment(keys, values);
        for (int others : new int[] {1, 1000, 1_000_000}) {
            KeptReader<?, ?> reader = reader(segment, others);
            DataInputBuffer key = new DataInputBuffer();
            DataInputBuffer value = new DataInputBuffer();
            for (int i = 0; i < sizes.length; i++) {
                assertTrue(reader.nextRawKey(key));
                reader.nextRawValue(value);
                assertArrayEquals(keys[i], content(key), "the key stays beside its value");
                assertArrayEquals(values[i], content(value));
            }
            assertFalse(reader.nextRawKey(key));
            assertEquals(segment.length, reader.getPosition());
            assertThrows(EOFException.class, () -> reader.nextRawKey(key));
        }
    }

    @Test
    void mutated_segments_end_or_are_refused_and_nothing_else() throws Exception {
        Random random = new Random(2);
        byte[][] parts = {new byte[3], new byte[200], new byte[0], new byte[40]};
        byte[] good = segment(parts, parts);
        DataInputBuffer buffer = new DataInputBuffer();
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = Arrays.copyOf(good, 1 + random.nextInt(good.length));
            for (int n = random.nextInt(4); n > 0; n--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            KeptReader<?, ?> reader = reader(bytes, 1 + i);
            try {
                while (reader.nextRawKey(buffer)) {
                    reader.nextRawValue(buffer);
                    assertTrue(reader.getPosition() <= bytes.length);
                }
            } catch (IOException e) {
                refused++;
            }
        }
        assertTrue(refused > 10_000, "most are cut off or damaged: " + refused);
    }
}
