// SPDX-License-Identifier: Apache-2.0
// The tags of values in a PlainSerializer's stream.
package org.verbena.spark.serial;

/** A tag byte, then the value: numbers highest byte first, lengths as four bytes. */
final class Plain {
    static final int NULL = 0;
    static final int INTEGER = 1;
    static final int LONG = 2;
    static final int DOUBLE = 3;
    static final int FLOAT = 4;
    static final int SHORT = 5;
    static final int BYTE = 6;
    static final int CHARACTER = 7;
    static final int FALSE = 8;
    static final int TRUE = 9;
    /** Length, bytes. */
    static final int BYTES = 10;
    /** Length, one byte per character. */
    static final int LATIN_TEXT = 11;
    /** Length, two bytes per character; any Java string, also with half surrogate pairs. */
    static final int WIDE_TEXT = 12;
    /** Two values. */
    static final int TUPLE2 = 13;
    /** Length, then so many bytes of the stream of the serializer below. */
    static final int OTHER = 14;
    /** Length, then so many bytes: a stream of the serializer below with one value. */
    static final int ALONE = 15;
    /** As OTHER, where the stream of the serializer below begins anew: its writer let go of the values before. */
    static final int ANEW = 16;

    private Plain() {
    }
}
