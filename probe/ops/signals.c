// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite `process`: signals, memory, and page faults. */
#include "ops/define.h"

#include <asm/mman.h>
#include <signal.h>
#include <sys/mman.h>

#define SUITE "process"

/* What the kernel takes for rt_sigaction. */
struct action {
	void (*handler)(int number, void *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#define RESTORER 0x04000000

static unsigned int caught;

static void count_signal(int number, void *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	caught++;
}

static void pass_over(int number, void *info, void *context)
{
	(void)number;
	(void)info;
	caught++;
	arch_skip_store(context);
}

static struct action counting = {
	.handler = count_signal, .flags = RESTORER | SA_SIGINFO, .restorer = arch_restorer};
static struct action passing = {
	.handler = pass_over, .flags = RESTORER | SA_SIGINFO, .restorer = arch_restorer};

static int install_arm(struct bench *bench)
{
	return one(bench,
		   (struct call){.nr = SYS_rt_sigaction, .arg = {SIGUSR1, (long)&counting, 0, 8}});
}
ALONE(install, "install a handler of a signal");
DEFINE_OP(install, "signal-install");

static int catch_setup(struct bench *bench)
{
	bench->fd[0] = (int)sys4(SYS_getpid, 0, 0, 0, 0);
	return (int)sys4(SYS_rt_sigaction, SIGUSR1, (long)&counting, 0, 8);
}

static int catch_arm(struct bench *bench)
{
	cycle_begin(bench);
	push(bench, (struct call){.nr = SYS_kill, .arg = {bench->fd[0], SIGUSR1}});
	region_from(bench, 0);
	return 0;
}

static void catch_run(struct bench *bench)
{
	unsigned int before = caught;

	call_all(&bench->call[0]);
	bench->status |= caught != before + 1;
}
ALONE(catch, "send a signal to oneself, and handle it");
DEFINE_OP(catch, "signal-catch", .setup = catch_setup, .run = catch_run,
	  .calls = "kill+rt_sigreturn", .cycle = "kill+rt_sigreturn");

/* A page to fault on; value says of what kind. */
enum page { ANONYMOUS, PAGE_OF_FILE, COPIED, REFUSED };

static char *page;

static long map_page(long rights, long flags, int fd)
{
	return sys6(SYS_mmap, 0, 4096, rights, flags, fd, 0);
}

static int page_setup(struct bench *bench)
{
	long value = bench->variant->value, at;
	long flags = MAP_PRIVATE | (value == ANONYMOUS || value == REFUSED ? MAP_ANONYMOUS : 0);
	long rights = value == REFUSED ? PROT_READ : PROT_READ | PROT_WRITE;
	int error = make_sized("HH", 4096);

	if (!error)
		error = sys_settle_times("HH");
	bench->fd[0] = error ? -1 : sys_open("HH", O_RDWR, 0);
	if (error || bench->fd[0] < 0)
		return error ? error : bench->fd[0];
	at = map_page(rights, flags, flags & MAP_ANONYMOUS ? -1 : bench->fd[0]);
	if (at < 0 && at > -4096)
		return (int)at;
	page = (char *)at;
	return (int)sys4(SYS_rt_sigaction, SIGSEGV, (long)&passing, 0, 8);
}

static int none_arm(struct bench *bench)
{
	cycle_begin(bench);
	return 0;
}
#define fault_arm none_arm

/* Give the page back, so that the next access faults. */
static int fault_before(struct bench *bench)
{
	return bench->variant->value == REFUSED
		       ? 0
		       : (int)sys4(SYS_madvise, (long)page, 4096, MADV_DONTNEED, 0);
}

static void fault_run(struct bench *bench)
{
	unsigned int before = caught;

	if (bench->variant->value == PAGE_OF_FILE)
		(void)*(volatile char *)page;
	else
		arch_store(page);
	bench->status |= caught != before + (bench->variant->value == REFUSED);
}
VARIANTS(fault, VARIANT("page=anonymous", "page fault: a page of zeros, written", ANONYMOUS),
	 VARIANT("page=file", "page fault: a page of a file, read", PAGE_OF_FILE),
	 VARIANT("page=copy", "page fault: a private page of a file, written", COPIED));
DEFINE_OP(fault, "fault", .setup = page_setup, .before = fault_before, .run = fault_run,
	  .cycle = "madvise");

static const struct variant refused_variant[] = {
	VARIANT("", "write where only reading is allowed, and handle the signal", REFUSED)};
static const struct op refused_op = {
	.suite = SUITE,
	.name = "signal-fault",
	.variants = refused_variant,
	.n_variants = 1,
	.arm = none_arm,
	.setup = page_setup,
	.run = fault_run,
	.calls = "rt_sigreturn",
	.cycle = "rt_sigreturn",
};
REGISTER_OP(refused_op);

/* mmap and munmap of a page, of zeros or of a file. */
static int map_arm(struct bench *bench)
{
	long file = bench->variant->value == PAGE_OF_FILE;

	cycle_begin(bench);
	push(bench,
	     (struct call){
		     .nr = SYS_mmap,
		     .arg = {0, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | (file ? 0 : MAP_ANONYMOUS), file ? bench->fd[0] : -1},
		     .expect = EXPECT_FD,
	     });
	region_from(bench, 0);
	push(bench, (struct call){.nr = SYS_munmap, .arg = {0, 4096}, .fd_from = 1});
	return 0;
}

static void map_run(struct bench *bench)
{
	call_all(&bench->call[0]);
}
#define MAPS \
	VARIANT("page=anonymous", "map a page of zeros", ANONYMOUS), \
		VARIANT("page=file", "map a page of a file", PAGE_OF_FILE)
VARIANTS(map, MAPS);
DEFINE_OP(map, "mmap", .settles = true, .setup = page_setup, .run = map_run);

static int unmap_before(struct bench *bench)
{
	long at = map_page(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	bench->call[0].arg[0] = at;
	return at < 0 && at > -4096 ? (int)at : 0;
}

static int unmap_arm(struct bench *bench)
{
	return one(bench, (struct call){.nr = SYS_munmap, .arg = {0, 4096}});
}
ALONE(unmap, "unmap a page of zeros");
DEFINE_OP(unmap, "munmap", .settles = true, .before = unmap_before, .cycle = "mmap+munmap");

static int protect_arm(struct bench *bench)
{
	const struct call call = {.nr = SYS_mprotect, .arg = {(long)page, 4096, PROT_READ}};

	cycle_begin(bench);
	push(bench, call);
	region_from(bench, 0);
	push(bench, call)->arg[2] = PROT_READ | PROT_WRITE;
	return 0;
}
VARIANTS(protect, VARIANT("page=anonymous", "mprotect of a page of zeros", ANONYMOUS),
	 VARIANT("page=file", "mprotect of a private page of a file", PAGE_OF_FILE));
DEFINE_OP(protect, "mprotect", .setup = page_setup);
