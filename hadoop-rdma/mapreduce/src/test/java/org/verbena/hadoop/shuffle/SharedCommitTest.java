// SPDX-License-Identifier: Apache-2.0
// Hadoop's own committer of outputs on lustre: two attempts of a task write the same part.
package org.verbena.hadoop.shuffle;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.hadoop.lustre.LustreFileSystem;

class SharedCommitTest {
    private static final org.apache.hadoop.fs.Path OUTPUT = new org.apache.hadoop.fs.Path("lustre:///out");

    @TempDir
    Path root;

    private Configuration conf(int algorithm) {
        Configuration conf = new Configuration(false);
        conf.set("fs.lustre.impl", LustreFileSystem.class.getName());
        conf.set("fs.lustre.impl.disable.cache", "true");
        conf.set("verbena.lustre.root", root.toString());
        conf.setInt(FileOutputCommitter.FILEOUTPUTCOMMITTER_ALGORITHM_VERSION, algorithm);
        return conf;
    }

    /** A client of its own, as on another host. */
    private record Attempt(TaskAttemptContext context, FileOutputCommitter committer, FSDataOutputStream out) {
        static Attempt start(Configuration conf, int number) throws IOException {
            TaskAttemptContext context =
                new TaskAttemptContextImpl(conf, new TaskAttemptID("1", 1, TaskType.REDUCE, 0, number));
            FileOutputCommitter committer = new FileOutputCommitter(OUTPUT, context);
            committer.setupTask(context);
            org.apache.hadoop.fs.Path part = new org.apache.hadoop.fs.Path(committer.getWorkPath(), "part-r-00000");
            return new Attempt(context, committer, FileSystem.get(part.toUri(), conf).create(part, false));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void the_output_is_that_of_the_attempt_that_was_committed_and_nothing_of_the_other_one(int algorithm) throws IOException {
        Attempt killed = Attempt.start(conf(algorithm), 0);
        killed.committer.setupJob(killed.context);
        killed.out.write("half of".getBytes(UTF_8));
        killed.out.hflush();
        Attempt second = Attempt.start(conf(algorithm), 1);
        second.out.write("the whole output".getBytes(UTF_8));
        second.out.close();
        second.committer.commitTask(second.context);
        killed.out.write(" an output, late".getBytes(UTF_8));
        killed.out.close();
        second.committer.commitJob(second.context);
        assertEquals("the whole output", Files.readString(root.resolve("out/part-r-00000")));
        assertFalse(Files.exists(root.resolve("out/_temporary")));
    }
}
