/* SPDX-License-Identifier: Apache-2.0
 * pick.h - which way large messages from a peer of this host come, where several are possible: by what both processes have
 * measured with each other. Caches that the two processors share, and the price of a system call, decide it; both differ from
 * pair to pair, and may change while a program runs. Pure functions over one receiver's record of one sender. Data that the
 * receiver maps has rows of its own: there it needs no kernel.
 *
 * What is measured is a busy time: from the first message that is pulled to the moment when none is any more, or PICK_LONG
 * messages later. So single messages count with their latency, and messages that follow one another with their rate.
 *
 * K1 The first busy times of a class of sizes try each way twice; the second time counts. From then on the fastest way is taken,
 *    and of PICK_AGAIN busy times one tries another way, in turns. K2 A slow busy time does not change the choice by itself: it
 *    counts as PICK_OUTLIER times the time so far at most. K3 All messages of a busy time and a row go the same way; a busy
 *    time with messages of several rows, or with one that failed, counts for nothing. */
#ifndef VBN_PROTO_PICK_H
#define VBN_PROTO_PICK_H

#include <stdbool.h>
#include <stdint.h>

#define PICK_LEAST (8u << 10) /* bytes of the first class; each further one takes twice as many */
#define PICK_CLASSES 9u
#define PICK_ROWS (2 * PICK_CLASSES) /* of private memory, then of memory that the receiver maps */
#define PICK_AGAIN 64u
#define PICK_OUTLIER 2u
#define PICK_LONG 64u

typedef enum pick_way {
    PICK_PACKETS, /* two copies, through the ring */
    PICK_READ,    /* one, by the receiver or for it by the kernel */
    PICK_BOTH,    /* the same, and the sender helps by the kernel */
    PICK_WAYS
} pick_way_t;

typedef struct pick_class {
    uint32_t times;              /* busy times begun */
    uint32_t byte_ps[PICK_WAYS]; /* 0: not known */
} pick_class_t;

typedef struct pick {
    uint32_t pending; /* messages of this busy time: begun and not ended, */
    uint32_t ended;
    uint64_t bytes;
    uint64_t since_ns;
    uint8_t row; /* its class and memory, */
    uint8_t way;
    bool spoilt; /* and whether it counts for nothing */
    pick_class_t classes[PICK_ROWS];
} pick_t;

unsigned pick_row(uint64_t bytes, bool mapped);
/* A message of a row is about to be pulled: how? ways: the first so many are possible. */
pick_way_t pick_begin(pick_t *pick, unsigned row, unsigned ways, uint64_t now_ns);
/* One that was begun has ended, all of it the way that was said. */
void pick_end(pick_t *pick, uint64_t bytes, bool as_said, uint64_t now_ns);
/* The fastest known way of a row; PICK_PACKETS when none is. */
pick_way_t pick_fastest(const pick_t *pick, unsigned row, unsigned ways);

#endif
