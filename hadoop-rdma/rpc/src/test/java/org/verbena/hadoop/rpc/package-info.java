// SPDX-License-Identifier: Apache-2.0
/** Tests of the doctor's checks of RPC. */
package org.verbena.hadoop.rpc;
