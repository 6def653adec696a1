// SPDX-License-Identifier: Apache-2.0
/** MapReduce's shuffle on the native core: the NodeManager's service and the reducer's consumer. */
package org.verbena.hadoop.shuffle;
