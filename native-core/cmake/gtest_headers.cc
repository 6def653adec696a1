// SPDX-License-Identifier: Apache-2.0
// Carries the precompiled GoogleTest headers that all tests use.
