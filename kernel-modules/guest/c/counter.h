/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time for a program that reads the processor's counter (RDTSC, RDTSCP), which would show
 * it the host's time otherwise. It counts nanoseconds, as of a processor of 1 GHz. So what a
 * program makes of it is the same in every run (Go's runtime seeds its scheduler by it). The file
 * that includes this one is arch/um/os-Linux/skas/process.c.
 */

#include <sys/prctl.h>
#include <generated/uapi/linux/version.h>
#include <hoplab/clock.h>

/* Length of the instruction by which the last fault came; 0 for another fault. */
static int counter_instruction;

/* In a process of the host: to read the counter is a fault, in what it clones and executes too. */
static void forbid_counter(void)
{
	if (time_travel_mode != TT_MODE_OFF)
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

/*
 * The instruction may begin anywhere in a word, and end in the next. A process of the SECCOMP mode is not traced,
 * and the kernel looks for itself.
 */
static bool read_code(int pid, unsigned long ip, unsigned char *code, int length)
{
	int i;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
	if (using_seccomp)
		return !copy_from_user_proc(code, (void *)ip, length);
#endif
	for (i = 0; i < length; i++) {
		unsigned long at = ip + i, word;

		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, pid, at & -sizeof(word), 0);
		if (errno)
			return false;
		code[i] = word >> 8 * (at % sizeof(word));
	}
	return true;
}

static int instruction_length(int pid, struct uml_pt_regs *regs, const siginfo_t *si)
{
	unsigned char code[3];

	if (time_travel_mode == TT_MODE_OFF || si->si_code != SI_KERNEL)
		return 0;
	if (!read_code(pid, REGS_IP(regs->gp), code, 2) || code[0] != 0x0f)
		return 0;
	if (code[1] == 0x31)
		return 2;
	if (code[1] != 0x01 || !read_code(pid, REGS_IP(regs->gp), code, 3))
		return 0;
	return code[2] == 0xf9 ? 3 : 0;
}

/* Whether a process's fault is that it read the counter. */
static bool counter_was_read(int pid, struct uml_pt_regs *regs, const siginfo_t *si)
{
	counter_instruction = instruction_length(pid, regs, si);
	return counter_instruction != 0;
}

/* The same of a process that is traced and has just stopped. */
static inline bool traced_counter_was_read(int pid, struct uml_pt_regs *regs)
{
	siginfo_t si;

	return !ptrace(PTRACE_GETSIGINFO, pid, 0, &si) && counter_was_read(pid, regs, &si);
}

/* If the process's fault was that, let it have read. */
static bool show_counter(struct uml_pt_regs *regs)
{
	unsigned long long now;

	if (!counter_instruction)
		return false;
	now = time_travel_counter();
	if (counter_instruction == 3)
		regs->gp[HOST_CX] = 0;
	regs->gp[HOST_AX] = now & 0xffffffff;
	regs->gp[HOST_DX] = now >> 32;
	REGS_IP(regs->gp) += counter_instruction;
	counter_instruction = 0;
	return true;
}
