// SPDX-License-Identifier: Apache-2.0
// What a worker's own address blob says (native-core/src/link/link_address.h).
package org.verbena.core;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Reads an address that this process has made; addresses of others are for the native core to judge. */
final class WorkerAddress {
    private static final int SECTIONS_AT = 5;
    private static final int HEAD_BYTES = 24;
    private static final int NAME_BYTES = 8;

    private WorkerAddress() {
    }

    /** Names of the transports that the address has a section for, in their order. */
    static List<String> transports(byte[] address) {
        ByteBuffer blob = ByteBuffer.wrap(address).order(ByteOrder.LITTLE_ENDIAN).position(HEAD_BYTES);
        List<String> names = new ArrayList<>();
        byte[] name = new byte[NAME_BYTES];
        for (int left = address[SECTIONS_AT]; left > 0; left--) {
            blob.get(name);
            names.add(new String(name, StandardCharsets.US_ASCII).replace("\0", ""));
            int bytes = Short.toUnsignedInt(blob.getShort());
            blob.position(blob.position() + bytes);
        }
        return names;
    }
}
