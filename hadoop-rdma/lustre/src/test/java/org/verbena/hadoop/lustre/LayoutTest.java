// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LayoutTest {
    private static final long MIB = 1 << 20;
    private static final String PLAIN = """
        /mnt/lustre/file
        lmm_stripe_count:  3
        lmm_stripe_size:   1048576
        lmm_pattern:       raid0
        lmm_layout_gen:    0
        lmm_stripe_offset: 7
        \tobdidx\t\t objid\t\t objid\t\t group
        \t     7\t         34162\t       0x8572\t             0
        \t     2\t         34098\t       0x8532\t             0
        \t    11\t         34100\t       0x8534\t  0x280000401

        """;
    private static final String COMPOSITE = """
        /mnt/lustre/file
          lcm_layout_gen:    3
          lcm_mirror_count:  1
          lcm_entry_count:   3
            lcme_id:             1
            lcme_mirror_id:      0
            lcme_flags:          init
            lcme_extent.e_start: 0
            lcme_extent.e_end:   4194304
              lmm_stripe_count:  1
              lmm_stripe_size:   4194304
              lmm_pattern:       raid0
              lmm_stripe_offset: 4
              lmm_objects:
              - 0: { l_ost_idx: 4, l_fid: [0x100040000:0x2:0x0] }

            lcme_id:             2
            lcme_flags:          init
            lcme_extent.e_start: 4194304
            lcme_extent.e_end:   67108864
              lmm_stripe_count:  2
              lmm_stripe_size:   1048576
              lmm_stripe_offset: 5
              lmm_objects:
              - 0: { l_ost_idx: 5, l_fid: [0x100050000:0x2:0x0] }
              - 1: { l_ost_idx: 0, l_fid: [0x100000000:0x2:0x0] }

            lcme_id:             3
            lcme_flags:          0
            lcme_extent.e_start: 67108864
            lcme_extent.e_end:   EOF
              lmm_stripe_count:  8
              lmm_stripe_size:   1048576
              lmm_stripe_offset: -1
        """;

    @Test
    void the_targets_of_a_plain_layout_go_round() {
        Layout layout = Layout.parse(PLAIN);
        assertEquals(List.of(new Layout.Part(0, Long.MAX_VALUE, MIB, List.of(7, 2, 11))), layout.parts());
        assertEquals(List.of(7), layout.targets(0, MIB));
        assertEquals(List.of(2), layout.targets(MIB, 1));
        assertEquals(List.of(7, 11), layout.targets(2 * MIB, MIB + 1));
        assertEquals(List.of(2, 7, 11), layout.targets(100 * MIB, 256 * MIB));
        assertEquals(List.of(), layout.targets(5, 0));
    }

    @Test
    void each_component_has_its_own_targets_and_one_without_objects_has_none() {
        Layout layout = Layout.parse(COMPOSITE);
        assertEquals(2, layout.parts().size());
        assertEquals(List.of(4), layout.targets(0, 4 * MIB));
        assertEquals(List.of(4, 5), layout.targets(4 * MIB - 1, 2));
        assertEquals(List.of(0, 4, 5), layout.targets(0, 256 * MIB));
        assertEquals(List.of(), layout.targets(64 * MIB, MIB));
    }

    @Test
    void words_that_make_no_sense_give_no_targets() {
        for (String text : List.of("", "error: getstripe failed for /x.\n", "lmm_stripe_size: 0\n 1 2 0x3 0\n",
                "lmm_stripe_size: -5\n 1 2 0x3 0\n",
                "lcme_extent.e_start: 9\nlcme_extent.e_end: 3\nlmm_stripe_size: 65536\n 1 2 0x3 0\n",
                "lmm_stripe_size: 99999999999999999999999\n 1 2 0x3 0\n")) {
            assertEquals(List.of(), Layout.parse(text).parts(), text);
        }
    }

    @Test
    void changed_words_never_throw_and_never_take_long() {
        Random random = new Random(41);
        for (int i = 0; i < 2000; i++) {
            StringBuilder text = new StringBuilder(i % 2 == 0 ? PLAIN : COMPOSITE);
            for (int change = random.nextInt(6); change >= 0; change--) {
                text.setCharAt(random.nextInt(text.length()), (char) (random.nextInt(96) + 32));
            }
            Layout.parse(text.toString()).targets(Math.abs(random.nextLong() / 2), 256 * MIB);
        }
    }
}
