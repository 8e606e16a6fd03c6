/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest without an operating system whose every instruction is known: it sets up long mode, runs
 * each case between the plugin's markers, writes the TSC difference of every sample to port 0xe9
 * (region as one byte, difference as eight), and ends by a triple fault. "User space" is the code
 * that begins and ends regions; "system calls" are jumps to sys_entry.
 */
#include "../../plugin/markers.h"

#define STACK_BYTES 0x4000
#define FAULT_PAGE 0x600000
#define APIC 0xfee00000
#define DATA 0x400000 /* nothing else is there */
#define TURNS 200000 /* of the long region; test_bare_guest.py has the number too */

	.macro marker kind, region
	.byte MARKER_NOP_X86
	.long MARKER_PREPARE | (\kind << 16) | \region
	.endm

	/* One sample: 16 instructions of user space from marker to marker, less the end marker. */
	.macro sample region, function
	marker 1, \region
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, %r12
	mov $\function, %r14
	lea 7f(%rip), %r15
	jmp sys_entry
7:	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	marker 2, \region
	sub %r12, %rax
	mov $\region, %bl
	call report
	.endm

	/* The same with an interrupt in user space: 9 instructions of it. */
	.macro sample_interrupted region, vector
	marker 1, \region
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, %r12
	int $\vector
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	marker 2, \region
	sub %r12, %rax
	mov $\region, %bl
	call report
	.endm

	.section .note, "a", @note
	.long 4, 8, 18 /* XEN_ELFNOTE_PHYS32_ENTRY: the PVH entry point */
	.asciz "Xen"
	.quad start32

	.section .user, "ax"
	.code32
	.globl start32
start32:
	cli
	mov $pml4, %eax
	mov %eax, %cr3
	mov %cr4, %eax
	or $0x20, %eax /* PAE */
	mov %eax, %cr4
	mov $0xc0000080, %ecx
	rdmsr
	or $0x100, %eax /* EFER.LME */
	wrmsr
	mov %cr0, %eax
	or $0x80000001, %eax
	mov %eax, %cr0
	lgdt gdt_pointer
	ljmp $8, $start64

	.code64
start64:
	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $user_stack_top, %rsp
	lidt idt_pointer
	mov $APIC + 0xf0, %eax
	movl $0x1ff, (%rax) /* on */
	mov $APIC + 0x3e0, %eax
	movl $0xb, (%rax) /* its timer counts nanoseconds */
	mov $APIC + 0x320, %eax
	movl $0x43, (%rax) /* once, vector 0x43 */
	marker 0, 0
	jmp 1f /* what follows is translated after the plugin woke up */
1:	mov $10, %r13d
2:	dec %r13d
	jnz 2b
	marker 2, 99 /* ends what never began */

	sample 0, f_leaf /* nobody's: no region was announced */
	mov $3, %r13d
3:	sample 1, f_loop
	dec %r13d
	jnz 3b
	sample 2, f_nested
	sample 3, f_tail
	sample 4, f_deep
	sample 5, f_thunk
	sample 6, f_interrupt
	sample 7, f_fault
	sample 8, f_yield
	sample 8, f_yield
	sample 9, f_skip
	sample 10, f_stuff
	sample 11, f_rep
	sample 12, f_generated
	sample 13, f_deep_interrupt
	sample 14, f_loop_to_entry
	sample_interrupted 15, 0x42
	sample 16, f_yield_d
	sample 17, f_yield_d
	sample 18, f_spawn_two

	/* A long region with all of it: 9 instructions of user space and 6 in each turn. */
	marker 1, 19
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, %r12
	mov $TURNS, %r13d
1:	mov $f_mix, %r14
	lea 2f(%rip), %r15
	jmp sys_entry
2:	int $0x40
	dec %r13d
	jnz 1b
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	marker 2, 19
	sub %r12, %rax
	mov $19, %bl
	call report

	/* Five samples of one region: 3, 4, 4, 4 and 5 turns of the loop. */
	movb $3, turns
	sample 20, f_turns
	movb $4, turns
	sample 20, f_turns
	sample 20, f_turns
	sample 20, f_turns
	movb $5, turns
	sample 20, f_turns

	/* What is counted as which event, three samples each: the first one fills the caches. */
	.irp number, 23, 24, 25, 26, 27
	mov $3, %r13d
3:	.if \number == 23
	sample 23, f_classes
	.elseif \number == 24
	sample 24, f_thousand
	.elseif \number == 25
	sample 25, f_lines
	.elseif \number == 26
	sample 26, f_ways
	.else
	sample 27, f_torn
	.endif
	dec %r13d
	jnz 3b
	.endr

	/* A region whose samples are summed: 3, 4 and 5 turns; other samples do not end it. */
	marker 3, 4
	marker 3, 0
	marker 3, 0
	marker 3, 7
	movb $3, turns
	sample 0, f_turns
	movb $4, turns
	sample 0, f_turns
	movb $5, turns
	sample 0, f_turns
	sample 1, f_loop
	/* One that begins anew after another region: only the last two are in its sum. */
	marker 3, 4
	marker 3, 0
	marker 3, 0
	marker 3, 8
	sample 0, f_turns
	sample 1, f_loop
	sample 0, f_turns
	sample 0, f_turns

	marker 1, 21 /* begun, never ended */
	sample 1, f_loop
	marker 1, 22 /* open when the guest dies */
	lidt no_idt
	ud2

	/* Write bl and rax to the debug port. */
report:
	mov %rax, %rcx
	mov %bl, %al
	out %al, $0xe9
	mov $8, %ebx
1:	mov %cl, %al
	out %al, $0xe9
	shr $8, %rcx
	dec %ebx
	jnz 1b
	ret

	.section .kernel, "ax"
	/* 4 instructions: two before the function, two after. */
	.globl sys_entry
sys_entry:
	mov $stack_a_top, %rsp
	call *%r14
	mov $user_stack_top, %rsp
	jmp *%r15

	/* 1 + 10 * 2 + 1 = 22 */
f_loop:
	mov $10, %ecx
1:	dec %ecx
	jnz 1b
	ret

	/* f_nested: 5 of its own; f_middle twice: 3 each; f_leaf twice: 2 each */
f_nested:
	nop
	call f_middle
	nop
	call f_middle
	ret
f_middle:
	nop
	call f_leaf
	ret
f_leaf:
	nop
	ret

	/* 2 in f_tail, then 3 in f_tail_target, on the same return slot; then 1 in the caller */
f_tail:
	call f_tail_first
	ret
f_tail_first:
	nop
	jmp f_tail_target
f_tail_target:
	nop
	nop
	ret

	/* 600 frames: 599 times dec, jz, call, ret, and once dec, jz, ret; f_deep itself 3 */
f_deep:
	mov $600, %ecx
	call f_recurse
	ret
f_recurse:
	dec %ecx
	jz 1f
	call f_recurse
1:	ret

	/* The thunks have no symbol: f_thunk 3 + indirect thunk 3, f_thunked 2 + return thunk 1 */
f_thunk:
	mov $f_thunked, %eax
	call indirect_thunk
	ret
f_thunked:
	nop
	jmp return_thunk
indirect_thunk:
	call 1f
2:	pause
	jmp 2b
1:	mov %rax, (%rsp)
	ret
return_thunk:
	ret

	/* 4 of its own; irq_entry 4, irq_body 2, all of it asynchronous */
f_interrupt:
	nop
	int $0x40
	nop
	ret
irq_entry:
	nop
	call irq_body
	nop
	iretq
irq_body:
	nop
	ret

	/* 4 of its own, the faulting one counted once; fault_entry 5 and fault_body 3 */
f_fault:
	nop
	movb (FAULT_PAGE), %al
	movl $0, fault_pte
	invlpg (FAULT_PAGE)
	ret
fault_entry:
	nop
	call fault_body
	add $8, %rsp
	nop
	iretq
fault_body:
	movl $FAULT_PAGE | 0x83, fault_pte
	invlpg (FAULT_PAGE)
	ret

	/* Task a: 4; switch_stacks 5 each way; task b: 3 until it switches back, then 1 (jmp) */
f_yield:
	mov $saved_a, %esi
	mov $saved_b, %edi
	call switch_stacks
	ret
switch_stacks:
	push %rbp
	mov %rsp, (%rsi)
	mov (%rdi), %rsp
	pop %rbp
	ret
task_b:
	call f_work
	mov $saved_b, %esi
	mov $saved_a, %edi
	call switch_stacks
	jmp task_b
f_work:
	nop
	ret

	/* f_skipped returns to the caller of its caller: f_skip 2, f_skipping 1, f_skipped 2 */
f_skip:
	call f_skipping
	ret
f_skipping:
	call f_skipped
	ud2
f_skipped:
	add $8, %rsp
	ret

	/* Calls that only fill the return predictor: 4 + 1, then f_leaf 2, 1 call, 1 ret: 7 of its own */
f_stuff:
	.rept 4
	call 1f
	int3
1:
	.endr
	add $32, %rsp
	call f_leaf
	ret

	/* 4 and however many the emulator counts for 100 times stosb: see the TSC */
f_rep:
	mov $scratch, %edi
	mov $100, %ecx
	rep stosb
	ret

	/* 3 of its own; generated code 4, which calls f_leaf (2) */
f_generated:
	mov $generated, %eax
	call *%rax
	ret

	/* An interrupt that goes on on another stack, which crosses a 16 KiB boundary */
f_deep_interrupt:
	nop
	int $0x41
	call f_leaf
	ret
irq_stack_entry:
	mov %rsp, %rbx
	mov $irq_stack_middle + 24, %rsp
	call irq_outer
	mov %rbx, %rsp
	iretq
irq_outer:
	push %rax
	call irq_inner
	pop %rax
	ret
irq_inner:
	push %rax
	call irq_body
	pop %rax
	ret

	/* A loop whose first instruction is the function's own entry: 1 call, 3 * 2 + 1 = 7 */
f_loop_to_entry:
	mov $3, %ecx
	call f_looping
	ret
f_looping:
	dec %ecx
	jnz f_looping
	ret

	/*
	 * An interrupt in user space whose handler goes on on another stack, where one comes that
	 * no instruction asks for: handler 6, f_moved 4 + 1000 * 3 + 2, irq_apic 3.
	 */
irq_moving_entry:
	call f_leaf
	mov %rsp, %rbx
	mov $stack_a_top, %rsp
	call f_moved
	mov %rbx, %rsp
	iretq
f_moved:
	mov $APIC + 0x380, %eax
	movl $16000, (%rax) /* nanoseconds: 1,000 instructions */
	sti
	mov $1000, %ecx
1:	call f_leaf
	dec %ecx
	jnz 1b
	cli
	ret
irq_apic:
	mov $APIC + 0xb0, %eax
	movl $0, (%rax)
	iretq

	/* Task d yields two calls deep: d_inner 4 and then 2, task_d 1 and then 2 more */
f_yield_d:
	mov $saved_a, %esi
	mov $saved_d, %edi
	call switch_stacks
	ret
task_d:
	call d_inner
	call f_leaf
	jmp task_d
d_inner:
	call f_work
	mov $saved_d, %esi
	mov $saved_a, %edi
	call switch_stacks
	nop
	ret

	/* Two new tasks, one after the other on one stack: f_spawn 6, task_start 2, task_dead 3 */
f_spawn_two:
	call f_spawn
	call f_spawn
	ret
f_spawn:
	movq $task_start, stack_c_top - 8
	movq $stack_c_top - 16, saved_c
	mov $saved_a, %esi
	mov $saved_c, %edi
	call switch_far
	ret
switch_far:
	push %rbp
	mov %rsp, (%rsi)
	mov (%rdi), %rsp
	pop %rbp
	call f_leaf
	ret
task_start:
	call f_leaf
	call task_dead
task_dead:
	mov $saved_c, %esi
	mov $saved_a, %edi
	call switch_far
	ud2

	/* 4 of its own */
f_mix:
	call f_nested
	call f_interrupt
	call f_yield
	ret

f_turns:
	movzbl turns, %ecx
1:	dec %ecx
	jnz 1b
	ret

	/* One of each class: 34, and 3 more that the emulator counts for the repetition; f_leaf 2 */
	.balign 4096
f_classes:
	lock incl scratch
	xchg %eax, scratch
	xchg %eax, %edx
	cmpxchg %ecx, scratch
	lock cmpxchg %ecx, scratch
	cli
	sti
	cli
	pushf
	popf
	lfence
	xor %eax, %eax
	cpuid
	mov $0xc0000103, %ecx /* TSC_AUX */
	xor %eax, %eax
	xor %edx, %edx
	wrmsr
	swapgs
	swapgs
	stac
	clac
	mov $100, %eax
	xor %edx, %edx
	mov $7, %ecx
	div %ecx
	mov $scratch, %edi
	mov $3, %ecx
	rep stosb
	call *leaf_pointer
	mov $1f, %eax
	jmp *%rax
1:	sfence
	mfence
	ret

	/* 1 + 1000 * 3 + 1 */
f_thousand:
	mov $1000, %ecx
1:	mov scratch, %eax
	dec %ecx
	jnz 1b
	ret

	/* 5 lines of 2 pages, two of them by one load each that begins in the line before */
	.balign 4096
f_lines:
	mov $DATA, %eax
	movl $0, (%rax)
	movl $0, 64(%rax)
	movl $0, 128(%rax)
	movl $0, 4096(%rax)
	mov 60(%rax), %rdx
	mov 4092(%rax), %rdx
	ret

	/* Twice 13 lines of one set, and then twice 12, which a cache of 12 ways can hold */
	.balign 64
f_ways:
	mov $13, %r8d
	call f_walk
	mov $12, %r8d
	call f_walk
	ret
f_walk:
	mov $2, %edx
2:	mov $DATA, %eax
	mov %r8d, %ecx
1:	mov (%rax), %esi
	add $4096, %eax
	dec %ecx
	jnz 1b
	dec %edx
	jnz 2b
	ret

	/* It faults in its second instruction, whose load took place by then and is repeated: 4 */
	.balign 64
f_torn:
	nop
	mov FAULT_PAGE - 4, %rax
	movl $0, fault_pte
	invlpg (FAULT_PAGE)
	ret

	.section .generated, "ax"
generated:
	nop
	call f_leaf
	nop
	ret

	.section .tables, "aw"
turns:
	.byte 0
	.balign 16
scratch:
	.skip 128
leaf_pointer:
	.quad f_leaf
gdt:
	.quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff
gdt_pointer:
	.word gdt_pointer - gdt - 1
	.quad gdt
no_idt:
	.word 0
	.quad 0
	.macro gate handler
	.word \handler - 0x200000 /* low 16 bits: the handlers lie in the first 64 KiB at 2 MiB */
	.word 8
	.word 0x8e00
	.word 0x20
	.quad 0
	.endm
idt_pointer:
	.word idt_end - idt - 1
	.quad idt

	/*
	 * One to one, in 2 MiB pages: the first 8 MiB, the last of them (FAULT_PAGE) absent, and the
	 * interrupt controller, which is not to be cached.
	 */
	.balign 4096
pml4:	.quad pdpt + 3
	.fill 511, 8, 0
pdpt:	.quad pd + 3
	.quad 0, 0
	.quad apic_pd + 3
	.fill 508, 8, 0
apic_pd:
	.fill 503, 8, 0
	.quad APIC | 0x93
	.fill 8, 8, 0
pd:	.quad 0x83, 0x200083, 0x400083
fault_pte:
	.quad 0
	.fill 508, 8, 0

	/* The table of interrupts shares its place with a stack, as in Linux. */
	.balign STACK_BYTES
idt:
	.skip 14 * 16
	gate fault_entry
	.skip (0x40 - 15) * 16
	gate irq_entry
	gate irq_stack_entry
	gate irq_moving_entry
	gate irq_apic
idt_end:
	.skip STACK_BYTES - (idt_end - idt)
user_stack_top:
	.skip STACK_BYTES
stack_a_top:
	.skip STACK_BYTES - 16
	.quad 0      /* rbp of task b */
	.quad task_b /* where its first switch returns to */
stack_b_top:
	.skip STACK_BYTES - 16
	.quad 0
	.quad task_d
stack_d_top:
	.skip STACK_BYTES
stack_c_top:
	.skip STACK_BYTES / 2
	.balign STACK_BYTES
irq_stack_middle:
	.skip STACK_BYTES / 2
saved_a:
	.quad 0
saved_b:
	.quad stack_b_top - 16
saved_c:
	.quad 0
saved_d:
	.quad stack_d_top - 16
	.section .note.GNU-stack, "", @progbits
