// SPDX-License-Identifier: Apache-2.0
// The books of a memory tier against its files.
package org.verbena.hadoop.hdfs.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryLedgerTest {
    private static final int PAGE = 4096;
    private static final int BLOCK = 64 * PAGE;
    private static final long WHOLE = MemoryLedger.pages(BLOCK);

    @TempDir
    Path root;
    private Path blocks;
    private MemoryLedger ledger;

    @BeforeEach
    void open() throws IOException {
        blocks = Files.createDirectories(root.resolve("current/pool/finalized"));
        ledger = new MemoryLedger(root, MemoryLedger.OWN + 3 * WHOLE);
    }

    private void files(long id, int bytes) throws IOException {
        Files.write(blocks.resolve("blk_" + id), new byte[bytes]);
        Files.write(blocks.resolve("blk_" + id + "_7.meta"), new byte[7 + 4 * ((bytes + 511) / 512)]);
    }

    private void delete(long id) throws IOException {
        Files.delete(blocks.resolve("blk_" + id));
        Files.delete(blocks.resolve("blk_" + id + "_7.meta"));
        ledger.removed();
    }

    private boolean open(long id) throws IOException {
        boolean fits = ledger.open("pool/blk_" + id, WHOLE, 0, true);
        if (fits) {
            files(id, 1);
        }
        return fits;
    }

    @Test
    void aReplicaThatIsWrittenTakesAWholeBlockAndAFinishedOneItsPages() throws IOException {
        assertTrue(open(1) && open(2) && open(3));
        assertFalse(open(4));
        files(1, PAGE + 1);
        ledger.close("pool/blk_1", MemoryLedger.pages(PAGE + 1));
        assertEquals(MemoryLedger.OWN + 2 * WHOLE + 3 * PAGE, ledger.used());
        assertFalse(open(4));
        delete(1);
        assertTrue(open(4));
    }

    @Test
    void whatIsThereAtTheStartCountsAndOtherFilesDoNot() throws IOException {
        files(9, BLOCK);
        Files.write(root.resolve("current/VERSION"), new byte[10 * BLOCK]);
        assertEquals(MemoryLedger.OWN + WHOLE, ledger.used());
    }

    @Test
    void aReplicaThatWasNeverMadeGivesItsRoomBack() throws IOException {
        assertTrue(ledger.open("pool/blk_1", 3 * WHOLE, 0, true));
        assertFalse(ledger.fits(1));
        ledger.drop("pool/blk_1");
        assertTrue(ledger.fits(3 * WHOLE));
    }

    @Test
    void a_deleted_file_counts_until_its_last_reader_closes_it() throws IOException {
        for (int id = 1; id <= 3; id++) {
            files(id, BLOCK);
        }
        try (InputStream first = Files.newInputStream(blocks.resolve("blk_1"));
                InputStream second = Files.newInputStream(blocks.resolve("blk_1"))) {
            delete(1);
            assertEquals(MemoryLedger.OWN + 2 * WHOLE + BLOCK, ledger.used());
            assertEquals(BLOCK, ledger.held());
            assertFalse(open(4));
            assertEquals(first.read(), second.read());
        }
        assertTrue(open(4));
        assertEquals(ledger.limit(), ledger.used());
        assertEquals(0, ledger.held());
    }

    @Test
    void more_than_the_limit_that_an_earlier_run_left_lets_nothing_in() throws IOException {
        for (int id = 1; id <= 4; id++) {
            files(id, BLOCK);
        }
        assertEquals(ledger.limit() + WHOLE, ledger.used());
        assertFalse(ledger.fits(1));
        delete(1);
        assertFalse(open(5));
        delete(2);
        assertTrue(open(5));
    }

    @Test
    void inAnyOrderFilesStayWithinTheLimitAndTheBooksAgreeWithThem() throws IOException {
        Random random = new Random(1);
        boolean[] written = new boolean[8];
        boolean[] there = new boolean[8];
        for (int i = 0; i < 2000; i++) {
            int id = random.nextInt(8);
            if (!there[id]) {
                written[id] = there[id] = open(id);
            } else if (written[id]) {
                int bytes = random.nextInt(BLOCK) + 1;
                files(id, bytes);
                ledger.close("pool/blk_" + id, MemoryLedger.pages(bytes));
                written[id] = false;
            } else {
                delete(id);
                there[id] = false;
            }
            assertTrue(ledger.used() <= ledger.limit());
        }
        for (int id = 0; id < 8; id++) {
            if (written[id]) {
                ledger.close("pool/blk_" + id, MemoryLedger.pages(1));
            }
        }
        assertEquals(new MemoryLedger(root, ledger.limit()).used(), ledger.used());
    }
}
