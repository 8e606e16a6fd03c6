// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Init of a guest with a service, a child of that, and clients, whose system calls are known. It
 * says of each region to the second serial line what the clock counted: REGION TIMES INSTRUCTIONS.
 */
#include "../../probe/arch/mark.h"
#include "init.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHIFT	    3
#define STATS	    100
#define CONNECTIONS 50
#define TURNS	    100000 /* of a loop of 2 instructions */
#define FORKS	    20
#define LONG	    25 /* turns: twenty ticks */

static int to_service[2], from_service[2];
static struct sockaddr_in address = {.sin_family = AF_INET};

#define ACCOUNT(number) asm volatile(ARCH_MARK_ACCOUNT : : "i"(number))

static void turn(void)
{
#if defined(__aarch64__)
	asm volatile("mov w9, %0\n\tmovk w9, %1, lsl #16\n1:\tsubs w9, w9, #1\n\tb.ne 1b"
		     :
		     : "i"(TURNS & 0xffff), "i"(TURNS >> 16)
		     : "x9", "cc");
#else
	asm volatile("mov %0, %%ecx\n1:\tdec %%ecx\n\tjnz 1b" : : "i"(TURNS) : "ecx", "cc");
#endif
}

static void look(void)
{
	struct stat status;

	for (int i = 0; i < STATS; i++)
		check(!stat("/data/kept", &status), "stat");
}

static void look_for_nothing(void)
{
	struct stat status;

	for (int i = 0; i < STATS; i++)
		check(stat("/data/missing", &status) < 0, "nothing");
}

/* A child of the service: what it does is the service's. */
static void serve(int listener)
{
	char order;

	while (read(to_service[0], &order, 1) == 1) {
		if (order == 't')
			turn();
		else if (order == 's')
			look();
		else if (order == 'n')
			look_for_nothing();
		for (int i = 0; order == 'l' && i < LONG; i++)
			turn();
		for (int i = 0; order == 'c' && i < CONNECTIONS; i++) {
			int fd = accept(listener, NULL, NULL);

			check(fd >= 0 && read(fd, &order, 1) == 1 && !close(fd), "serve");
			order = 'c';
		}
		/* Tasks that end at once, in whose place others come. */
		for (int i = 0; order == 'f' && i < FORKS; i++) {
			pid_t child = fork();

			if (!child) {
				turn();
				_exit(0);
			}
			check(waitpid(child, NULL, 0) == child, "forks");
		}
		check(write(from_service[1], &order, 1) == 1, "answer");
	}
	_exit(0);
}

static void start_service(void)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_port = htons(80);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(!bind(listener, (struct sockaddr *)&address, sizeof(address)), "bind");
	check(!listen(listener, 16) && !pipe(to_service) && !pipe(from_service), "service");
	if (fork())
		return;
	ACCOUNT(1);
	if (!fork())
		serve(listener);
	pause();
}

static void order(char what)
{
	char answer;

	check(write(to_service[1], &what, 1) == 1, "order");
	if (what != 'c')
		check(read(from_service[0], &answer, 1) == 1, "done");
}

static void connect_all(void)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		char byte = 0;

		check(!connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
		check(write(fd, &byte, 1) == 1 && !read(fd, &byte, 1) && !close(fd), "client");
	}
}

/* In a process of the account client. */
static void as_client(void (*work)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		ACCOUNT(2);
		work();
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && !status, "client");
}

static void nothing(void)
{
}

static void own_turn(void)
{
	turn();
}

static void service_turns(void)
{
	order('t');
}

static void service_looks(void)
{
	order('s');
}

static void service_looks_for_nothing(void)
{
	order('n');
}

static void clients_look(void)
{
	as_client(look);
}

static void network(void)
{
	char answer;

	order('c');
	as_client(connect_all);
	check(read(from_service[0], &answer, 1) == 1, "network");
}

static void service_forks(void)
{
	order('f');
}

static void service_turns_long(void)
{
	order('l');
}

static void open_and_close(void)
{
	for (int i = 0; i < STATS; i++) {
		int fd = open("/data/kept", O_RDONLY | O_CLOEXEC);

		check(fd >= 0 && !close(fd), "open");
	}
}

/* Their struct file are freed after a grace period. */
static void clients_open(void)
{
	const struct timespec time = {.tv_nsec = 100000000};

	as_client(open_and_close);
	check(!nanosleep(&time, NULL), "sleep");
}

static void region(unsigned int id, void (*work)(void))
{
	uint64_t first, last;

	for (int i = 0; i < 3; i++) {
		mark_announce(id);
		first = arch_mark_begin();
		work();
		last = arch_mark_end();
		fprintf(port, "%u %d %llu\n", id, i, (unsigned long long)(last - first) >> SHIFT);
		fflush(port);
		tcdrain(fileno(port));
	}
}

static void link_up(void)
{
	struct ifreq loopback = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	check(!ioctl(fd, SIOCGIFFLAGS, &loopback), "lo");
	loopback.ifr_flags |= IFF_UP;
	check(!ioctl(fd, SIOCSIFFLAGS, &loopback) && !close(fd), "up");
}

int main(void)
{
	static void (*const works[])(void) = {
		nothing,       own_turn,
		service_turns, service_looks,
		clients_look,  network,
		service_forks, service_turns_long,
		clients_open,  service_looks_for_nothing,
	};

	prepare();
	link_up();
	ACCOUNT(3);
	start_service();
	for (unsigned int i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		region(i, works[i]);
	fprintf(port, "end 0 0\n");
	fflush(port);
	tcdrain(fileno(port));
	reboot(RB_AUTOBOOT);
}
