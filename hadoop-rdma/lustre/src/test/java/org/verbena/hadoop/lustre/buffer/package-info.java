// SPDX-License-Identifier: Apache-2.0
/** Tests of the burst buffer, with servers in processes of their own. */
package org.verbena.hadoop.lustre.buffer;
