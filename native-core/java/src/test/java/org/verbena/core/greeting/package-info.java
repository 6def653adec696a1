// SPDX-License-Identifier: Apache-2.0
/** Tests of greetings. */
package org.verbena.core.greeting;
