// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.rpc;

import org.apache.hadoop.ipc.CoreRpcEngine;

/** {@code rpc.engine.PROTOCOL}: Hadoop's engine for protocols of protobuf, with the core beside TCP. */
public final class VerbenaRpcEngine extends CoreRpcEngine {
}
