// SPDX-License-Identifier: Apache-2.0
/** Measurements of the client. */
package org.verbena.memcached.bench;
