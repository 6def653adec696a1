// SPDX-License-Identifier: Apache-2.0
/** Access to members of Hadoop's metrics that this package alone has. */
package org.apache.hadoop.metrics2.lib;
