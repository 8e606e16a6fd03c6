/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shadow stacks: which function runs now, by calls, returns and entries alone.
 *
 * A call pushes a frame that is named by the address of its return slot; the first function
 * entered after it gives the frame its name. A return pops every frame whose slot lies at or
 * below the slot that it reads, so tail calls, frames left by longjmp-like code and thunks that
 * adjust the stack pointer need no special case. Frames on other stacks (interrupt stacks) are
 * distinguished by their base; every task has a list of frames of its own.
 *
 * Where calls leave their return address in a register, a frame is found again by that address:
 * the code that a return leads to pops the innermost frame that was to go on there. Slots are made
 * up then, one below the other, and tasks are told by where the switch saves their registers.
 *
 * A task that was inside the kernel before the sample began has frames that were never seen. Its
 * next call or return shows which function it is in now: that one gets a frame below [resumed],
 * until it returns to a caller that is just as little known.
 */
#ifndef LSMETER_SHADOW_H
#define LSMETER_SHADOW_H

#include "calltree.h"
#include "events/events.h"
#include "symbols.h"

#define MAX_FRAMES 4096 /* of one task: a 16 KiB stack holds 2048 return slots */
#define MAX_TASKS  256

struct frame {
	uint64_t slot; /* address of the return slot; 0 while unknown (system call, exception) */
	uint32_t node; /* the function's, or its caller's as long as it is not entered */
	bool entered;
	bool trap;    /* ended by iretq */
	bool user;    /* what ends it goes on in user space */
	bool guessed; /* its slot is not known, but lies above all that it uses: slot - 1 so far */
	bool returning; /* a return ran, and where it led is not known yet */
	uint64_t back;	/* where it will go on if calls are linked, 0 for none */
};

/* User code that is translated as one, and runs to its end unless an instruction faults. */
struct block {
	uint64_t first; /* addresses of instructions */
	uint64_t last;
	uint64_t insns;
};

struct task {
	uint64_t home; /* base of its kernel stack, or where registers are saved; 0 while unknown */
	uint64_t ran;  /* when it became the running task; counts switches */
	uint32_t depth;
	bool dead;	/* runs for the last time */
	uint64_t retry; /* instruction that a fault may have to repeat, 0 for none */
	struct frame *frames;
};

struct shadow {
	struct calltree tree;
	struct events *events; /* NULL where none are counted */
	struct task tasks[MAX_TASKS];
	uint32_t current; /* index of the running task */
	uint64_t switches;
	uint64_t stack_mask; /* 0 where calls are linked */
	bool in_user;
	bool switching;		   /* the next call or return may be on the stack of another task */
	uint64_t next;		   /* its home, where calls are linked; 0 while unknown */
	bool stored;		   /* the registers of the task that is left are being saved */
	bool damaged;		   /* a limit was hit: this sample's tree is not whole */
	uint64_t last;		   /* count of instructions that are charged already */
	uint64_t again;		   /* instructions counted twice, because a fault repeated them */
	uint64_t user_since;	   /* count at the latest return to user space */
	const struct block *block; /* of user code that ran last, NULL for none */
	uint64_t block_since;
};

/*
 * Returns false when there is no memory. stack_bytes: size and alignment of kernel stacks, 0 where
 * calls are linked. events: what counts them, or NULL.
 */
bool shadow_init(struct shadow *shadow, uint64_t stack_bytes, struct events *events);

/* Begin a sample, in user space, at this count of instructions. */
void shadow_begin(struct shadow *shadow, uint64_t now);

/* End it: everything up to now is charged. */
void shadow_end(struct shadow *shadow, uint64_t now);

/*
 * A call wrote its return address to slot; now counts the call itself. function is the one that
 * it is part of, NULL for none.
 */
void shadow_call(struct shadow *shadow, const struct symbol *function, uint64_t slot, uint64_t now);

/* A return in a function read its address from slot; now counts the return itself. */
void shadow_return(struct shadow *shadow, const struct symbol *function, uint64_t slot,
		   uint64_t now);

/* The same of a call that is linked, and will go on at `back`. */
void shadow_link(struct shadow *shadow, const struct symbol *function, uint64_t back, uint64_t now);

/* The same of a return by such a link; where it leads is told by shadow_back(). */
void shadow_unlink(struct shadow *shadow, const struct symbol *function, uint64_t now);

/* What follows a call, at this address, is about to run: a return led there, or a branch. */
void shadow_back(struct shadow *shadow, uint64_t to);

/* Where calls are linked, code that switches tasks stores or loads a register at `at`. */
void shadow_context(struct shadow *shadow, uint64_t at, bool store);

/* The first instruction of a function is about to run; kind: the symbol's, or what it was found
 * to be. */
void shadow_entry(struct shadow *shadow, const struct symbol *symbol, enum symbol_kind kind,
		  uint64_t now);

/* Code without a symbol is about to run; it is a function if it was just called. */
void shadow_unknown(struct shadow *shadow, const char *name, uint64_t now);

/* An iretq is about to run. */
void shadow_iret(struct shadow *shadow, uint64_t now);

/* A sysret is about to run. */
void shadow_sysret(struct shadow *shadow, uint64_t now);

/* User space is about to run this block, which has to stay where it is. */
void shadow_user(struct shadow *shadow, const struct block *block, uint64_t now);

#endif
