// SPDX-License-Identifier: Apache-2.0
/** The configuration text of a client, and the server that each key has. */
package org.verbena.memcached.config;
