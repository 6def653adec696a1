/* SPDX-License-Identifier: Apache-2.0
 * key_file.h - a secret in a file: a job's key, the cluster's key of the Java plugins, a memcached server's key.
 *
 * One rule holds for all of them. The file is a plain one with 64 hexadecimal digits; its owner is this user or root; nobody
 * but the owner may write it, its group may read it, and others have no right at all: modes 0600, 0640, 0440, 0400. Symbolic
 * links are followed (Kubernetes mounts secrets so). What counts is the file that has been opened: nobody can exchange it
 * between the look and the reading. */
#ifndef VBN_BASE_KEY_FILE_H
#define VBN_BASE_KEY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define KEY_FILE_BYTES VBN_JOB_KEY_BYTES

/* of_others: the file may belong to another user, too, as a server's does for clients of its group. VBN_ERR_ACCESS: owner or
 * mode are wrong; VBN_ERR_SETTING: it holds no key; else what the kernel said. The text names the file and the cure. On
 * failure key is not written. Any thread. */
vbn_status_t key_file_read(const char *path, bool of_others, uint8_t key[KEY_FILE_BYTES]);
/* Makes a file with a new random key, in a folder that exists: mode 0600 whatever the umask is, and on the disk with all of its
 * text as soon as it has its name. VBN_ERR_IN_USE: a file, folder or link has the name, and stays as it is; else what the kernel
 * said. The text names the file and the cure. Any thread. */
vbn_status_t key_file_new(const char *path);

#endif
