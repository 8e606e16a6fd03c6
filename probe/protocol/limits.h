/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers that the probe and the host must agree on. The host has them in guest/request.py,
 * guest/protocol.py and guest/probe.py; tests/probe/test_limits.py compares each one, so a line
 * here is one #define with a plain number.
 */
#ifndef LSMETER_PROTOCOL_LIMITS_H
#define LSMETER_PROTOCOL_LIMITS_H

/* The catalogue: version of its format. */
#define CATALOGUE_VERSION 4

/* The request: bytes, then entries of each list, then the largest value of each number. */
#define REQUEST_VERSION	    1
#define REQUEST_BYTES	    65536
#define MAX_STEPS	    128
#define MAX_CHECKS	    32
#define MAX_STATES	    8
#define MAX_CONFINE	    4
#define MAX_SAMPLES	    1000000
#define MAX_COPIES	    1024
#define MAX_COUNTINGS	    1000 /* samples with count=1: each keeps a number for each hook */
#define MAX_ICOUNT_SHIFT    10
#define MAX_DEADLINE_MS	    3600000
#define MAX_PPM		    1000000
#define MAX_SEED	    0xffffffff
#define MAX_DELAY_NS	    10000000 /* of the tunable module (kernel/tunable), and in BPF */
#define MAX_LANDLOCK_LAYERS 16
#define MAX_LANDLOCK_RULES  1024
#define MAX_LANDLOCK_DEPTH  16
#define MAX_SPIN_NS	    1000000
#define MAX_SECCOMP_FILTERS 16
#define MAX_SECCOMP_LENGTH  2000 /* 16 of these are what the kernel lets one process have */
#define MAX_WORDS	    32	 /* of a line */
#define WORDS_BYTES	    4096
#define MAX_PREPARE	    32
#define MAX_SERVICES	    8
#define MAX_ASKS	    16
#define MAX_CLIENTS	    128
#define MAX_UNITS	    1000000000 /* of a client in one batch */
#define MAX_SETTLE_MS	    10000
#define MAX_ENVIRONMENT	    32
#define MAX_MONITOR_MS	    10000
#define PROCESS_BYTES	    15 /* of a process's name, as the kernel keeps it */

/* The result channel. */
#define PROTOCOL_VERSION 2
#define LINE_BYTES	 4096
#define SAID_BYTES	 1000	    /* of what a client says last */
#define MAX_MOMENTS	 2000	    /* of one batch */
#define MAX_HOOKS	 512	    /* that are counted; kernels have 200 to 300 */
#define COUNTER_UNREAD	 0xffffffff /* stands for a number that was not read or went back */

#endif
