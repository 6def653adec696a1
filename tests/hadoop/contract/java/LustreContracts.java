// SPDX-License-Identifier: Apache-2.0
// Hadoop's contract tests of file systems for lustre:, a class for each. contract/lustre.xml has what the file system promises.
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.contract.*;

/** PathHandle has a file of its own for JUnit 4 and 5. contract/lustre.xml says why SafeMode and LeaseRecovery are left out. */
public final class LustreContracts {
    private LustreContracts() {
    }

    /** The folder is that of the JVM's core-site.xml. */
    static final class Contract extends AbstractFSContract {
        Contract(Configuration conf) {
            super(conf);
            addConfResource("contract/lustre.xml");
        }

        @Override
        public String getScheme() {
            return "lustre";
        }

        @Override
        public FileSystem getTestFileSystem() throws java.io.IOException {
            return FileSystem.get(java.net.URI.create("lustre:///"), getConf());
        }

        @Override
        public Path getTestPath() {
            return new Path("/test");
        }
    }

    public static class Append extends AbstractContractAppendTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class BulkDelete extends AbstractContractBulkDeleteTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Concat extends AbstractContractConcatTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class ContentSummary extends AbstractContractContentSummaryTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class CopyFromLocal extends AbstractContractCopyFromLocalTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Create extends AbstractContractCreateTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Delete extends AbstractContractDeleteTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Etag extends AbstractContractEtagTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class GetEnclosingRoot extends AbstractContractGetEnclosingRoot {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class GetFileStatus extends AbstractContractGetFileStatusTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Mkdir extends AbstractContractMkdirTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class MultipartUploader extends AbstractContractMultipartUploaderTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
        protected int partSizeInBytes() { return 1024; }
        protected boolean finalizeConsumesUploadIdImmediately() { return true; }
        protected boolean supportsConcurrentUploadsToSamePath() { return true; }
    }

    public static class Open extends AbstractContractOpenTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Rename extends AbstractContractRenameTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class RootDirectory extends AbstractContractRootDirectoryTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Seek extends AbstractContractSeekTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class SetTimes extends AbstractContractSetTimesTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class StreamIOStatistics extends AbstractContractStreamIOStatisticsTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class Unbuffer extends AbstractContractUnbufferTest {
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }

    public static class VectoredRead extends AbstractContractVectoredReadTest {
        public VectoredRead(String bufferType) { super(bufferType); }
        protected AbstractFSContract createContract(Configuration conf) { return new Contract(conf); }
    }
}
