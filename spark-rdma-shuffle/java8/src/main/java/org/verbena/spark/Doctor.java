// SPDX-License-Identifier: Apache-2.0
// What an older Java than 17 finds for spark-submit --class org.verbena.spark.Doctor.
package org.verbena.spark;

/** Says what is in the way. */
public final class Doctor {
    private Doctor() {
    }

    /** The exit status is 1. */
    public static void main(String[] arguments) {
        System.out.println("BAD   Verbena will stand aside: " + TooOld.reason());
        System.exit(1);
    }
}
