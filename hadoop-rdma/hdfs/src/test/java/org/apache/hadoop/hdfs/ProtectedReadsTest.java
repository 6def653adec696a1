// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import static org.apache.hadoop.hdfs.WriteCluster.path;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.CryptoInputStream;
import org.apache.hadoop.crypto.key.KeyProvider;
import org.apache.hadoop.crypto.key.KeyProviderFactory;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenSecretManager;
import org.apache.hadoop.hdfs.security.token.block.DataEncryptionKey;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small reads where data transfer is encrypted, blocks have access tokens, and files lie in an encryption zone. */
class ProtectedReadsTest {
    private static final String KEY = "key";
    private static final long LIFETIME_MS = 600_000;

    @TempDir
    private static Path work;

    private static WriteCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        WriteCluster.endHedgedReads(); // of another class
        String keys = "jceks://file" + work.resolve("keys.jceks");
        KeyProvider provider = KeyProviderFactory.get(new URI(keys), new Configuration());
        provider.createKey(KEY, new KeyProvider.Options(new Configuration()));
        provider.flush();
        cluster = new WriteCluster(work, 2, Map.of("dfs.block.access.token.enable", "true", "dfs.encrypt.data.transfer", "true",
            "hadoop.security.key.provider.path", keys, "dfs.replication", "2"));
    }

    @AfterAll
    static void stop() throws IOException {
        cluster.close();
    }

    private static BlockTokenSecretManager tokens() {
        return cluster.nameNode().getNamesystem().getBlockManager().getBlockTokenSecretManager();
    }

    @Test
    void connections_that_are_encrypted_carry_small_reads() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = Readings.write(files, path("encrypted"));
            long before = ReadConnection.ANSWERS.sum();
            Readings.check(files, path("encrypted"), content);
            assertNotNull(files.getClient().getEncryptionKey());
            assertTrue(ReadConnection.ANSWERS.sum() - before >= Readings.SMALL);
        }
    }

    @Test
    void a_data_node_that_does_not_know_the_key_of_encryption_has_hadoop_fetch_another() throws Exception {
        try (DistributedFileSystem files = cluster.client("dfs.client.context=keys")) { // connections of its own
            byte[] content = Readings.write(files, path("unknown"));
            DataEncryptionKey right = files.getClient().newDataEncryptionKey();
            Field field = DFSClient.class.getDeclaredField("encryptionKey");
            field.setAccessible(true);
            for (boolean vectored : new boolean[] {false, true}) {
                field.set(files.getClient(), new DataEncryptionKey(right.keyId + 1000, right.blockPoolId, right.nonce,
                    right.encryptionKey, right.expiryDate, right.encryptionAlgorithm));
                WriteCluster.closeConnections(files);
                try (FSDataInputStream in = files.open(path("unknown"))) {
                    if (vectored) {
                        Readings.vectored(in, content);
                    } else {
                        Readings.positioned(in, content);
                    }
                }
                assertTrue(files.getClient().getEncryptionKey().keyId < right.keyId + 1000);
            }
        }
    }

    @Test
    void a_stream_reads_on_when_its_tokens_have_expired() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = Readings.write(files, path("tokens"));
            for (boolean vectored : new boolean[] {false, true}) {
                tokens().setTokenLifetime(1);
                try (FSDataInputStream in = files.open(path("tokens"))) {
                    tokens().setTokenLifetime(LIFETIME_MS);
                    LocatedBlock first = ((DFSInputStream) in.getWrappedStream()).getAllBlocks().get(0);
                    long end = first.getBlockToken().decodeIdentifier().getExpiryDate();
                    WriteCluster.until("the token is too old", () -> System.currentTimeMillis() > end);
                    if (vectored) {
                        Readings.vectored(in, content);
                    } else {
                        Readings.positioned(in, content);
                    }
                    long before = ReadConnection.ANSWERS.sum();
                    Readings.check(in, content);
                    assertTrue(ReadConnection.ANSWERS.sum() - before >= Readings.SMALL);
                } finally {
                    tokens().setTokenLifetime(LIFETIME_MS);
                }
            }
            assertEquals(2, WriteCluster.block(files, path("tokens")).getLocations().length); // no replica is blamed
        }
    }

    @Test
    void files_of_an_encryption_zone_are_plain_to_their_readers() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            files.mkdirs(path("zone"));
            files.createEncryptionZone(path("zone"), KEY);
            byte[] content = Readings.write(files, path("zone/file"));
            long before = ReadConnection.ANSWERS.sum();
            try (FSDataInputStream in = files.open(path("zone/file"))) {
                assertInstanceOf(CryptoInputStream.class, in.getWrappedStream());
                Readings.check(in, content);
            }
            assertTrue(ReadConnection.ANSWERS.sum() > before);
            List<Path> replicas = cluster.replicas(files, "zone/file");
            assertEquals(2, replicas.size());
            for (Path replica : replicas) {
                byte[] bytes = Files.readAllBytes(replica);
                assertEquals(content.length, bytes.length);
                assertFalse(Arrays.equals(content, 0, 64, bytes, 0, 64));
            }
        }
    }
}
