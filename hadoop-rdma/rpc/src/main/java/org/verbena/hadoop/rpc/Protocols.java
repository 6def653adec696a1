// SPDX-License-Identifier: Apache-2.0
// hadoop jar hadoop-rdma-0.1.0.jar org.verbena.hadoop.rpc.Protocols > FILE: the properties that switch RPC by the core on.
package org.verbena.hadoop.rpc;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Hadoop has a property for each protocol, and no property for all of them. */
public final class Protocols {
    private static final String LIST = "protocols";

    private Protocols() {
    }

    /** Returns the names of the properties, one for each protocol of protobuf of Hadoop 3.4 and 3.5. */
    public static List<String> keys() {
        try (InputStream in = Protocols.class.getResourceAsStream(LIST)) {
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII).lines().map(name -> "rpc.engine." + name).toList();
        } catch (IOException e) {
            throw new IllegalStateException("the list of protocols in the jar cannot be read: " + e.getMessage(), e);
        }
    }

    /** Prints a site file. */
    public static void main(String[] arguments) {
        System.out.println("<?xml version=\"1.0\"?>\n<configuration>");
        for (String key : keys()) {
            System.out.println("  <property><name>" + key + "</name><value>" + VerbenaRpcEngine.class.getName()
                + "</value></property>");
        }
        System.out.println("</configuration>");
    }
}
