// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suite `process`: making processes, executing programs and ending. Each region waits for the
 * child, so that the child's own part is in it. Programs are a few instructions long: what is
 * measured is the kernel's work.
 */
#include "ops/define.h"
#include "ops/peer.h"

#include <elf.h>
#include <sched.h>
#include <sys/mman.h>

#define SUITE "process"

ROWS();

static int batch_setup(struct bench *bench)
{
	(void)bench;
	return peer_batch();
}

static struct call wait_for(struct bench *bench)
{
	return (struct call){
		.nr = SYS_wait4, .arg = {-1, (long)&bench->status}, .expect = EXPECT_ID};
}

/* fork, exit, wait; value is what clone() is to be asked for besides. */
static int fork_arm(struct bench *bench)
{
	cycle_begin(bench);
	if (bench->variant->value)
		push(bench, (struct call){.nr = SYS_clone,
					  .arg = {bench->variant->value | SIGCHLD},
					  .expect = EXPECT_ID});
	else
		push(bench, (struct call){CALLS(AS_FORK()), .expect = EXPECT_ID});
	push(bench, wait_for(bench));
	region_from(bench, 0);
	return 0;
}

static void fork_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	if (!bench->call[0].result)
		sys4(SYS_exit_group, 0, 0, 0, 0);
	bench->call[1].arg[0] = bench->call[0].result;
	call_all(&bench->call[1]);
}
ALONE(fork, "fork, exit, wait");
DEFINE_OP(fork, "fork", .settles = true, .processes = true, .setup = batch_setup, .run = fork_run,
	  .calls = "fork+exit_group+wait4", .cycle = "fork+exit_group+wait4");

#define fork_in_arm fork_arm
VARIANTS(fork_in, VARIANT("namespace=user", "clone into a new user namespace", CLONE_NEWUSER),
	 VARIANT("namespace=uts", "clone into a new UTS namespace", CLONE_NEWUTS),
	 VARIANT("namespace=mount", "clone into a new mount namespace", CLONE_NEWNS));

static int namespace_setup(struct bench *bench)
{
	int error = peer_batch();

	if (!error) {
		fork_arm(bench);
		fork_run(bench);
		error = bench->call[0].result < 0 ? (int)bench->call[0].result : 0;
	}
	return error == -EINVAL ? -ENOSYS : error;
}
DEFINE_OP(fork_in, "clone", .settles = true, .processes = true, .setup = namespace_setup,
	  .run = fork_run, .privileged = true, .calls = "clone+exit_group+wait4",
	  .cycle = "clone+exit_group+wait4", .needs = "namespace of this kind");

static int vfork_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_VFORK()), .expect = EXPECT_ID});
	push(bench, wait_for(bench));
	region_from(bench, 0);
	return 0;
}
ALONE(vfork, "vfork, exit, wait");
DEFINE_OP(vfork, "vfork", .settles = true, .processes = true, .setup = batch_setup, .run = fork_run,
	  .calls = "vfork+exit_group+wait4", .cycle = "vfork+exit_group+wait4");

/* A thread that exits at once, and is waited for. */
#define THREAD_FLAGS \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_CHILD_CLEARTID)

static char stack[4096] __attribute__((aligned(16)));
static int alive;

static int thread_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_clone, .expect = EXPECT_ID});
	region_from(bench, 0);
	return 0;
}

static void thread_run(struct bench *bench)
{
	alive = 1;
	bench->call[0].result = arch_thread(THREAD_FLAGS, stack + sizeof(stack), &alive);
	while (bench->call[0].result > 0 && __atomic_load_n(&alive, __ATOMIC_ACQUIRE))
		sys4(SYS_futex, (long)&alive, 0 /* FUTEX_WAIT */, 1, 0);
}
ALONE(thread, "make a thread, which exits, and wait for it");
DEFINE_OP(thread, "thread", .settles = true, .processes = true, .setup = batch_setup,
	  .run = thread_run, .calls = "clone+exit+futex", .cycle = "clone+exit+futex");

/* Write a program that is a page, so that the kernel need not clear what follows the file;
 * interpreter: "" if the kernel is to start it. */
static int write_program(const char *name, const char *interpreter, const void *code, size_t size,
			 const char *after)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr load, interpret;
		char path[16];
		char code[4096 - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr) - 16];
	} file = {
		.header =
			{
				.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
					    EV_CURRENT},
				.e_type = ET_DYN,
				.e_machine = ARCH_ELF_MACHINE,
				.e_version = EV_CURRENT,
				.e_entry = offsetof(typeof(file), code),
				.e_phoff = offsetof(typeof(file), load),
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = *interpreter ? 2 : 1,
			},
		.load = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_filesz = sizeof(file),
			 .p_memsz = sizeof(file),
			 .p_align = 4096},
		.interpret = {.p_type = PT_INTERP,
			      .p_flags = PF_R,
			      .p_offset = offsetof(typeof(file), path),
			      .p_filesz = strlen(interpreter) + 1},
	};
	int fd = sys_open(name, O_CREAT | O_EXCL | O_WRONLY, 0755);
	long n;

	snprintf(file.path, sizeof(file.path), "%s", interpreter);
	memcpy(file.code, code, size);
	snprintf(file.code + size, sizeof(file.code) - size, "%s", after);
	if (fd < 0)
		return fd;
	n = sys_write(fd, &file, sizeof(file));
	sys_close(fd);
	return n == (long)sizeof(file) ? sys_settle_times(name) : n < 0 ? (int)n : -EIO;
}

static int write_script(void)
{
	static const char text[] = "#!static\n";
	int fd = sys_open("script", O_CREAT | O_EXCL | O_WRONLY, 0755);
	long n = fd < 0 ? fd : sys_write(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		sys_close(fd);
	return n < 0 ? (int)n : sys_settle_times("script");
}

static const char *arguments[][4] = {{"program", NULL}, {"sh", "-c", "true", NULL}};
static const char *environment[] = {"PATH=/usr/bin:/bin", NULL};

static int exec_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){CALLS(AS_VFORK()), .expect = EXPECT_ID});
	push(bench, wait_for(bench));
	region_from(bench, 0);
	snprintf(bench->path[0], sizeof(bench->path[0]), "%s", bench->variant->path);
	return 0;
}

static void exec_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	if (!bench->call[0].result) {
		sys4(SYS_execve, (long)bench->path[0], (long)arguments[bench->variant->value],
		     (long)environment, 0);
		sys4(SYS_exit_group, 126, 0, 0, 0);
	}
	bench->call[1].arg[0] = bench->call[0].result;
	call_all(&bench->call[1]);
}

/* What a child leaves that could not execute the program. */
#define DENIED (126 << 8)

static int try_exec(struct bench *bench)
{
	int status;

	exec_arm(bench);
	exec_run(bench);
	status = bench->status;
	bench->status = 0;
	return status == DENIED ? -EACCES : 0;
}

static int exec_setup(struct bench *bench)
{
	int error = write_program("static", "", arch_code_exit, sizeof(arch_code_exit), "");

	if (!error)
		error = write_program("dynamic", "static", arch_code_exit, sizeof(arch_code_exit),
				      "");
	if (!error)
		error = write_program("again", "", arch_code_exec, sizeof(arch_code_exec),
				      "static");
	if (!error)
		error = write_script();
	if (!error && *bench->variant->path == '/')
		error = (int)sys4(AS_ACCESS(bench->variant->path, 1));
	if (error == -ENOENT)
		return -ENOSYS; /* a guest without image has no shell */
	if (!error)
		error = peer_batch();
	return error ? error : try_exec(bench);
}

#define EXEC(word, where, number, text) \
	{.params = "program=" word, \
	 .origin = ORIGIN_OWN, \
	 .title = text, \
	 .path = where, \
	 .value = number}
VARIANTS(exec, EXEC("static", "static", 0, "vfork, execute a static program, wait"),
	 EXEC("dynamic", "dynamic", 0, "vfork, execute a program with an interpreter, wait"),
	 EXEC("again", "again", 0, "vfork, execute a program that executes another, wait"),
	 EXEC("script", "script", 0, "vfork, execute a script whose interpreter exits, wait"),
	 EXEC("shell", "/bin/sh", 1, "vfork, execute sh -c true, wait"));
DEFINE_OP(exec, "exec", .settles = true, .processes = true, .setup = exec_setup, .run = exec_run,
	  .calls = "vfork+execve+wait4", .cycle = "vfork+execve+wait4", .components = 1,
	  .needs = "/bin/sh");

/* As posix_spawn does it: signals blocked around a child that shares all memory. */
static long every_signal = -1, old_signals;

static int spawn_arm(struct bench *bench)
{
	const struct call mask = {.nr = SYS_rt_sigprocmask,
				  .arg = {0, (long)&every_signal, (long)&old_signals, 8}};
	const struct call back = {.nr = SYS_rt_sigprocmask, .arg = {2, (long)&old_signals, 0, 8}};

	cycle_begin(bench);
	push(bench, mask);
	push(bench, (struct call){.nr = SYS_clone,
				  .arg = {CLONE_VM | CLONE_VFORK | SIGCHLD},
				  .expect = EXPECT_ID});
	push(bench, back);
	push(bench, wait_for(bench));
	region_from(bench, 0);
	snprintf(bench->path[0], sizeof(bench->path[0]), "static");
	return 0;
}

static void spawn_run(struct bench *bench)
{
	call_all(&bench->call[0]);
	call_all(&bench->call[1]);
	if (!bench->call[1].result) {
		sys4(SYS_rt_sigprocmask, 2, (long)&old_signals, 0, 8);
		sys4(SYS_execve, (long)bench->path[0], (long)arguments[0], (long)environment, 0);
		sys4(SYS_exit_group, 126, 0, 0, 0);
	}
	call_all(&bench->call[2]);
	bench->call[3].arg[0] = bench->call[1].result;
	call_all(&bench->call[3]);
}
VARIANTS(spawn, EXEC("static", "static", 0, "posix_spawn of a static program, wait"));
DEFINE_OP(spawn, "spawn", .settles = true, .processes = true, .setup = exec_setup, .run = spawn_run,
	  .calls = "rt_sigprocmask+clone+execve+wait4",
	  .cycle = "rt_sigprocmask+clone+execve+wait4", .components = 1);

/* The end of a process with so many mappings of a page each, which were written. */
static int go[2], ready[2];
static char byte;

static int exit_setup(struct bench *bench)
{
	long error = sys4(AS_PIPE(go));

	(void)bench;
	if (!error)
		error = sys4(AS_PIPE(ready));
	return error ? (int)error : peer_batch();
}

/* Every other page, so that no mapping is merged with its neighbour. */
static bool map_and_write(long number)
{
	const long place = 0x100000000, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	long at = place + number * 2 * 4096;

	if (sys6(SYS_mmap, at, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) != at)
		return false;
	*(volatile char *)at = 1;
	return true;
}

static void mapped_child(long mappings)
{
	long status = 0;

	for (long i = 0; i < mappings; i++)
		status |= !map_and_write(i);
	sys_write(ready[1], &byte, 1);
	sys4(SYS_read, go[0], (long)&byte, 1, 0);
	sys4(SYS_exit_group, status, 0, 0, 0);
}

static int exit_before(struct bench *bench)
{
	long pid = sys4(AS_FORK()), n;

	if (!pid)
		mapped_child(bench->variant->value);
	if (pid < 0)
		return (int)pid;
	n = sys4(SYS_read, ready[0], (long)&byte, 1, 0);
	sys4(SYS_sched_yield, 0, 0, 0, 0);
	return n < 0 ? (int)n : 0;
}

static int exit_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_write, .arg = {go[1], (long)&byte, 1}, .want = 1});
	push(bench, wait_for(bench));
	region_from(bench, 0);
	return 0;
}
#define EXITS(number, word) \
	VARIANT("mappings=" #number, "end of a process that has mapped and written " word, number)
VARIANTS(exit, EXITS(1, "1 page"), EXITS(8, "8 pages"), EXITS(64, "64 pages"));
DEFINE_OP(exit, "exit", .settles = true, .processes = true, .setup = exit_setup,
	  .before = exit_before, .calls = "write+exit_group+wait4",
	  .cycle = "fork+mmap...+exit+wait4");
