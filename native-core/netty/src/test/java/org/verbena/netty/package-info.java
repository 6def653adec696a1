// SPDX-License-Identifier: Apache-2.0
/** Tests of the Netty transport, on the real core, with Netty's leak detector at paranoid. */
package org.verbena.netty;
