// SPDX-License-Identifier: Apache-2.0
/** The classes of Hadoop's RPC over the native core that settings name. */
package org.verbena.hadoop.rpc;
