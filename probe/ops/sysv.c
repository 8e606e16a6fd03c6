// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `ipc`: System V's messages, semaphores and shared memory, POSIX's message queues, and
 * keys. Objects are private to the process, and removed.
 */
#include "ops/define.h"

#include <linux/keyctl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#define SUITE "ipc"
#define BYTES 64

static struct {
	long type;
	char text[BYTES];
} message = {.type = 1};
static struct sembuf up = {.sem_op = 1}, down = {.sem_op = -1};
static struct msqid_ds queue_status;

/* Whether others run the same benchmark: another copy, or another setup of the same turns. Names
 * that all processes share are then each one's own. */
static bool is_beside_others(const struct bench *bench)
{
	return !in_guest || bench->copy;
}

static int result_of(long result, struct bench *bench)
{
	bench->fd[0] = (int)result;
	return result < 0 ? (int)result : 0;
}

/* An object, and what removes it. */
static int queue_setup(struct bench *bench)
{
	return result_of(sys4(SYS_msgget, IPC_PRIVATE, 0600, 0, 0), bench);
}

static int queue_teardown(struct bench *bench)
{
	return (int)sys4(SYS_msgctl, bench->fd[0], IPC_RMID, 0, 0);
}

static int semaphore_setup(struct bench *bench)
{
	return result_of(sys4(SYS_semget, IPC_PRIVATE, 1, 0600, 0), bench);
}

static int semaphore_teardown(struct bench *bench)
{
	return (int)sys4(SYS_semctl, bench->fd[0], 0, IPC_RMID, 0);
}

static int memory_setup(struct bench *bench)
{
	return result_of(sys4(SYS_shmget, IPC_PRIVATE, 4096, 0600, 0), bench);
}

static int memory_teardown(struct bench *bench)
{
	return (int)sys4(SYS_shmctl, bench->fd[0], IPC_RMID, 0, 0);
}

static int msg_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_msgsnd, .arg = {bench->fd[0], (long)&message, BYTES}});
	push(bench, (struct call){.nr = SYS_msgrcv,
				  .arg = {bench->fd[0], (long)&message, BYTES},
				  .want = BYTES});
	region_from(bench, 0);
	return 0;
}
ALONE(msg, "send and receive a message of 64 bytes (System V)");
DEFINE_OP(msg, "sysv-message", .setup = queue_setup, .teardown = queue_teardown, .run = run_in_row,
	  .needs = "System V IPC");

static int msgctl_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_msgctl,
					.arg = {bench->fd[0], IPC_STAT, (long)&queue_status}});
}
ALONE(msgctl, "the state of a message queue (System V)");
DEFINE_OP(msgctl, "sysv-msgctl", .setup = queue_setup, .teardown = queue_teardown,
	  .needs = "System V IPC");

static int sem_arm(struct bench *bench)
{
	bench->call[0] = (struct call){.nr = SYS_semop, .arg = {bench->fd[0], (long)&up, 1}};
	bench->call[1] = (struct call){.nr = SYS_semop, .arg = {bench->fd[0], (long)&down, 1}};
	bench->first = 0;
	TWO_CALLS(bench);
	return 0;
}
ALONE(sem, "raise and lower a semaphore (System V)");
DEFINE_OP(sem, "sysv-semaphore", .setup = semaphore_setup, .teardown = semaphore_teardown,
	  .needs = "System V IPC");

static int shm_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_shmat, .arg = {bench->fd[0]}, .expect = EXPECT_FD});
	push(bench, (struct call){.nr = SYS_shmdt, .fd_from = 1});
	region_from(bench, 0);
	return 0;
}
ALONE(shm, "attach and detach shared memory (System V)");
DEFINE_OP(shm, "sysv-memory", .settles = true, .setup = memory_setup, .teardown = memory_teardown,
	  .run = run_in_row, .needs = "System V IPC");

/*
 * A queue with the first of the places that the kernel gives in turn, of 64 at least: what
 * removing one takes depends on where the others are.
 */
#define PLACES 32768

static int first_queue_setup(struct bench *bench)
{
	int error = queue_setup(bench);

	for (int i = 0; !error && i < PLACES && bench->fd[0] % PLACES; i++) {
		error = queue_teardown(bench);
		if (!error)
			error = queue_setup(bench);
	}
	return error;
}

/* Making one and removing it; value says which kind. */
enum kind { QUEUE, SEMAPHORE, MEMORY };

static int make_arm(struct bench *bench)
{
	static const struct call make[] = {
		[QUEUE] = {.nr = SYS_msgget, .arg = {IPC_PRIVATE, 0600}, .expect = EXPECT_ID},
		[SEMAPHORE] = {.nr = SYS_semget,
			       .arg = {IPC_PRIVATE, 1, 0600},
			       .expect = EXPECT_ID},
		[MEMORY] = {.nr = SYS_shmget,
			    .arg = {IPC_PRIVATE, 4096, 0600},
			    .expect = EXPECT_ID},
	};
	static const struct call gone[] = {
		[QUEUE] = {.nr = SYS_msgctl, .arg = {0, IPC_RMID}, .fd_from = 1},
		[SEMAPHORE] = {.nr = SYS_semctl, .arg = {0, 0, IPC_RMID}, .fd_from = 1},
		[MEMORY] = {.nr = SYS_shmctl, .arg = {0, IPC_RMID}, .fd_from = 1},
	};

	cycle_begin(bench);
	push(bench, make[bench->variant->value]);
	push(bench, gone[bench->variant->value]);
	region_from(bench, 0);
	return 0;
}
VARIANTS(make, VARIANT("kind=message", "make and remove a message queue", QUEUE),
	 VARIANT("kind=semaphore", "make and remove a semaphore", SEMAPHORE),
	 VARIANT("kind=memory", "make and remove shared memory", MEMORY));
DEFINE_OP(make, "sysv-make", .settles = true, .setup = first_queue_setup,
	  .teardown = queue_teardown, .run = run_in_row, .needs = "System V IPC");

/* Finding one by its key. */
static long object_key = 0x6c736d65;

static int find_setup(struct bench *bench)
{
	static const long made[] = {SYS_msgget, SYS_semget, SYS_shmget};
	long kind = bench->variant->value;

	if (is_beside_others(bench))
		object_key += getpid();
	if (kind == QUEUE)
		return result_of(sys4(made[kind], object_key, IPC_CREAT | 0600, 0, 0), bench);
	return result_of(
		sys4(made[kind], object_key, kind == MEMORY ? 4096 : 1, IPC_CREAT | 0600, 0),
		bench);
}

static int find_arm(struct bench *bench)
{
	const struct call call[] = {
		[QUEUE] = {.nr = SYS_msgget, .arg = {object_key, 0600}, .expect = EXPECT_ID},
		[SEMAPHORE] = {.nr = SYS_semget, .arg = {object_key, 1, 0600}, .expect = EXPECT_ID},
		[MEMORY] = {.nr = SYS_shmget, .arg = {object_key, 4096, 0600}, .expect = EXPECT_ID},
	};

	return one(bench, call[bench->variant->value]);
}

static int find_teardown(struct bench *bench)
{
	if (bench->variant->value == QUEUE)
		return queue_teardown(bench);
	return bench->variant->value == MEMORY ? memory_teardown(bench) : semaphore_teardown(bench);
}
VARIANTS(find, VARIANT("kind=message", "find a message queue by its key", QUEUE),
	 VARIANT("kind=semaphore", "find a semaphore by its key", SEMAPHORE),
	 VARIANT("kind=memory", "find shared memory by its key", MEMORY));
DEFINE_OP(find, "sysv-find", .setup = find_setup, .teardown = find_teardown,
	  .needs = "System V IPC");

/* POSIX's queues. */
static struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = BYTES};
static char queue_name[32] = "lsmeter";

static long queue_open(void)
{
	return sys4(SYS_mq_open, (long)queue_name, O_RDWR | O_CREAT, 0600, (long)&attributes);
}

static int mq_setup(struct bench *bench)
{
	long fd;

	if (is_beside_others(bench))
		snprintf(queue_name, sizeof(queue_name), "lsmeter.%d", getpid());
	fd = queue_open();
	return result_of(fd, bench);
}

static int mq_teardown(struct bench *bench)
{
	sys_close(bench->fd[0]);
	return (int)sys4(SYS_mq_unlink, (long)queue_name, 0, 0, 0);
}

static int mq_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_mq_timedsend,
				  .arg = {bench->fd[0], (long)message.text, BYTES}});
	push(bench, (struct call){.nr = SYS_mq_timedreceive,
				  .arg = {bench->fd[0], (long)message.text, BYTES},
				  .want = BYTES});
	region_from(bench, 0);
	return 0;
}
ALONE(mq, "send and receive a message of 64 bytes (POSIX)");
DEFINE_OP(mq, "mq-message", .setup = mq_setup, .teardown = mq_teardown, .run = run_in_row,
	  .needs = "POSIX message queue");

static int mqopen_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench,
	     (struct call){.nr = SYS_mq_open,
			   .arg = {(long)queue_name, O_RDWR | O_CREAT, 0600, (long)&attributes},
			   .expect = EXPECT_FD});
	push(bench, CLOSE_OF(0));
	push(bench, (struct call){.nr = SYS_mq_unlink, .arg = {(long)queue_name}});
	region_from(bench, 0);
	return 0;
}

static int mqopen_setup(struct bench *bench)
{
	int error = mq_setup(bench);

	return error ? error : mq_teardown(bench);
}
ALONE(mqopen, "make, close and remove a message queue (POSIX)");
DEFINE_OP(mqopen, "mq-make", .settles = true, .setup = mqopen_setup, .run = run_in_row,
	  .needs = "POSIX message queue");

/* Keys, in the keyring of the process. */
static const char payload[16], type[] = "user", description[] = "lsmeter";

static long add_key(void)
{
	return sys6(SYS_add_key, (long)type, (long)description, (long)payload, sizeof(payload),
		    KEY_SPEC_PROCESS_KEYRING, 0);
}

static int key_setup(struct bench *bench)
{
	return result_of(add_key(), bench);
}

static char text[256];

static int key_arm(struct bench *bench)
{
	const long key = bench->fd[0], ring = KEY_SPEC_PROCESS_KEYRING;
	const struct call call[] = {
		{.nr = SYS_add_key,
		 .arg = {(long)type, (long)description, (long)payload, sizeof(payload), ring},
		 .expect = EXPECT_FD},
		{.nr = SYS_keyctl,
		 .arg = {KEYCTL_READ, key, (long)text, sizeof(text)},
		 .want = sizeof(payload)},
		{.nr = SYS_keyctl,
		 .arg = {KEYCTL_SEARCH, ring, (long)type, (long)description},
		 .expect = EXPECT_FD},
		{.nr = SYS_request_key,
		 .arg = {(long)type, (long)description, 0, 0},
		 .expect = EXPECT_FD},
		{.nr = SYS_keyctl,
		 .arg = {KEYCTL_GET_SECURITY, key, (long)text, sizeof(text)},
		 .expect = EXPECT_ID},
	};

	cycle_begin(bench);
	push(bench, call[bench->variant->value]);
	region_from(bench, 0);
	return 0;
}
VARIANTS(key, VARIANT("call=update", "add_key of a key that is there", 0),
	 VARIANT("call=read", "read a key of 16 bytes", 1),
	 VARIANT("call=search", "look a key up in a keyring", 2),
	 VARIANT("call=request", "request_key of a key that is there", 3),
	 VARIANT("call=label", "the label of a key", 4));
DEFINE_OP(key, "key", .setup = key_setup, .run = run_in_row, .needs = "key retention");

/* A new key, and its end. */
static int newkey_arm(struct bench *bench)
{
	cycle_begin(bench);
	snprintf(bench->path[0], sizeof(bench->path[0]), "k%06u", bench->serial);
	push(bench, (struct call){.nr = SYS_add_key,
				  .arg = {(long)type, (long)bench->path[0], (long)payload,
					  sizeof(payload), KEY_SPEC_PROCESS_KEYRING},
				  .expect = EXPECT_FD});
	push(bench, (struct call){.nr = SYS_keyctl, .arg = {KEYCTL_UNLINK}});
	region_from(bench, 0);

	return 0;
}

static void newkey_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	bench->call[1].arg[1] = bench->call[0].result;
	bench->call[1].arg[2] = KEY_SPEC_PROCESS_KEYRING;
	call_all(&bench->call[1]);
}
ALONE(newkey, "add a new key, and unlink it");
DEFINE_OP(newkey, "key-make", .settles = true, .setup = key_setup, .run = newkey_run,
	  .needs = "key retention");
