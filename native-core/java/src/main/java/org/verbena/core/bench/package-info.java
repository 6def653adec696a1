// SPDX-License-Identifier: Apache-2.0
/** Benchmarks of the Java API, run by their main methods. */
package org.verbena.core.bench;
