// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `ipc`: futexes and eventfd. */
#include "ops/define.h"
#include "ops/peer.h"

#include <linux/futex.h>
#include <sys/mman.h>

#define SUITE "ipc"

/* Futexes: waking where nobody waits, and turns with another process. */
static int *words;

static int wake_arm(struct bench *bench)
{
	static int word;

	return one(bench,
		   (struct call){.nr = SYS_futex, .arg = {(long)&word, FUTEX_WAKE_PRIVATE, 1}});
}
ALONE(wake, "futex: wake where nobody waits");
DEFINE_OP(wake, "futex-wake");

/* Each waits for its own word to be 1, and sets it back. */
static inline __attribute__((always_inline)) long await_word(int *word)
{
	long result = 0;

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE) && (!result || result == -EAGAIN))
		result = sys4(SYS_futex, (long)word, FUTEX_WAIT, 0, 0);
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	return result == -EAGAIN ? 0 : result;
}

static inline __attribute__((always_inline)) void set_word(int *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

static void answer(long number)
{
	(void)number;
	while (!await_word(&words[0])) {
		set_word(&words[16]);
		sys4(SYS_futex, (long)&words[16], FUTEX_WAKE, 1, 0);
	}
}

static int futex_setup(struct bench *bench)
{
	long at =
		sys6(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error = peer_batch();

	(void)bench;
	if (at < 0 && at > -4096)
		return (int)at;
	words = (int *)at;
	return error ? error : peer_start(answer, 0);
}

static int futex_teardown(struct bench *bench)
{
	(void)bench;
	peer_stop_all();
	return 0;
}

static int futex_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_futex,
				  .arg = {(long)words, FUTEX_WAKE, 1},
				  .expect = EXPECT_ID});
	region_from(bench, 0);
	return 0;
}

static void futex_run(struct bench *bench)
{
	set_word(&words[0]);
	call_all(&bench->call[0]);
	bench->status |= (int)await_word(&words[16]);
}
ALONE(futex, "wake another process by a futex, and be woken by it");
DEFINE_OP(futex, "futex-turn", .settles = true, .processes = true, .setup = futex_setup,
	  .teardown = futex_teardown, .run = futex_run, .calls = "futex+futex",
	  .cycle = "futex+futex");

static int eventfd_setup(struct bench *bench)
{
	bench->fd[0] = bench->fd[1] = (int)sys4(SYS_eventfd2, 0, 0, 0, 0);
	return bench->fd[0] < 0 ? bench->fd[0] : 0;
}

static int eventfd_arm(struct bench *bench)
{
	static uint64_t number = 1;

	bench->call[0] =
		(struct call){.nr = SYS_write, .arg = {bench->fd[1], (long)&number, 8}, .want = 8};
	bench->call[1] =
		(struct call){.nr = SYS_read, .arg = {bench->fd[0], (long)&number, 8}, .want = 8};
	bench->first = 0;
	TWO_CALLS(bench);
	return 0;
}
ALONE(eventfd, "write and read of an eventfd");
DEFINE_OP(eventfd, "eventfd", .setup = eventfd_setup, .needs = "eventfd");
