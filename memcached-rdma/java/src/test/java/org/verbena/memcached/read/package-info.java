// SPDX-License-Identifier: Apache-2.0
/** Tests. */
package org.verbena.memcached.read;
