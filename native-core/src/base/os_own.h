/* SPDX-License-Identifier: Apache-2.0
 * os_own.h - descriptors that belong to this process alone: a child after fork() loses them at once. A child that kept a
 * copy of a connection would keep it open after its parent's death, and the peer would notice that only when the child
 * has ended; one that kept a listening socket would let others dial a process that is gone. (A child of vfork() or
 * posix_spawn() loses them by O_CLOEXEC.) What is mapped of a device among them keeps it open, too, so the child loses that
 * as well, whoever mapped it. Any thread. */
#ifndef VBN_BASE_OS_OWN_H
#define VBN_BASE_OS_OWN_H

#include <stdbool.h>
#include <sys/socket.h>

/* As socket() and accept4(), with SOCK_NONBLOCK and SOCK_CLOEXEC; -1 with errno. */
int os_own_socket(int domain, int type);
int os_own_accept(int fd, struct sockaddr *from, socklen_t *length);
/* Ends the connection, whoever else may have a copy of the descriptor, and closes it. Does nothing in a child, where
 * the number may be another file's. */
void os_own_close(int fd);

/* For descriptors that others open and close. keep: false without memory. forget: before it is closed; false: it was
 * not kept by this process. */
bool os_own_keep(int fd);
bool os_own_forget(int fd);

#endif
