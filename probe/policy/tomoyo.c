// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/tomoyo.h"

#include "protocol/channel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DIRECTORY "/sys/kernel/security/tomoyo/"

/* More than the log ever keeps: max_audit_log of a profile, by default 1024. */
#define MAX_ENTRIES 4096

static bool read_once(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

void tomoyo_domain(char *domain, size_t size)
{
	read_once(DIRECTORY "self_domain", domain, size);
	domain[strcspn(domain, "\n")] = '\0';
}

/* Both counts of one reading: a policy may have many thousands of lines. */
static void domain_facts(void)
{
	FILE *file = fopen(DIRECTORY "domain_policy", "re");
	int domains = 0, rules = 0;
	char line[1024];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		domains += !strncmp(line, "use_profile ", 12);
		rules += !strncmp(line, "file ", 5);
	}
	fclose(file);
	channel_fact("tomoyo.domains", "%d", domains);
	channel_fact("tomoyo.rules", "%d", rules);
}

void tomoyo_facts(void)
{
	char text[1024];
	int profiles = 0;
	FILE *file;

	if (!read_once(DIRECTORY "version", text, sizeof(text)))
		return;
	text[strcspn(text, "\n")] = '\0';
	channel_fact("tomoyo.version", "%s", text);
	file = fopen(DIRECTORY "profile", "re");
	while (file && fgets(text, sizeof(text), file))
		profiles += strstr(text, "-COMMENT=") != NULL;
	if (file)
		fclose(file);
	channel_fact("tomoyo.profiles", "%d", profiles);
	/* The kernel refuses (panics on) a policy with a domain whose profile does not exist. */
	channel_fact("tomoyo.policy_loaded", "%d", profiles > 0);
	domain_facts();
}

void tomoyo_log_clear(void)
{
	char entry[4096];

	for (int i = 0; i < MAX_ENTRIES && read_once(DIRECTORY "audit", entry, sizeof(entry)); i++)
		;
}

bool tomoyo_log_find(const char *text, char *message, size_t size)
{
	char entry[4096];

	for (int i = 0; i < MAX_ENTRIES && read_once(DIRECTORY "audit", entry, sizeof(entry));
	     i++) {
		if (!strstr(entry, text))
			continue;
		for (char *end = entry; (end = strchr(end, '\n'));)
			*end = ' ';
		snprintf(message, size, "%s", entry);
		return true;
	}
	return false;
}
