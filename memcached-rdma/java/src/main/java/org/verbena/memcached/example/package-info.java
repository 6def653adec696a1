// SPDX-License-Identifier: Apache-2.0
/** The client in one page. */
package org.verbena.memcached.example;
