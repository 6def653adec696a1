/* SPDX-License-Identifier: Apache-2.0
 * key_text.h - what everything that reads a key says of a file that others can read, too. The Java plugins say the same. */
#ifndef VBN_BASE_KEY_TEXT_H
#define VBN_BASE_KEY_TEXT_H

/* Path, mode, path again. */
#define KEY_TEXT_OPEN "%s is mode %04o: others can read the key; run: chmod 600 %s"

#endif
