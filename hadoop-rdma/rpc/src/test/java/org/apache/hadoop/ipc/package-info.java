// SPDX-License-Identifier: Apache-2.0
/** Tests of Hadoop's RPC by the core. */
package org.apache.hadoop.ipc;
