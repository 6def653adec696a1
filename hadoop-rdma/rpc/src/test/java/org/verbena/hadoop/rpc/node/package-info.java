// SPDX-License-Identifier: Apache-2.0
/** Tests of hellos and settings of RPC. */
package org.verbena.hadoop.rpc.node;
