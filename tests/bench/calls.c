// SPDX-License-Identifier: Apache-2.0
/*
 * What a system call costs that a kernel in user space carries out. One way is ptrace, as
 * User-Mode Linux does. The other is a signal in the program's own process
 * (PR_SET_SYSCALL_USER_DISPATCH).
 *
 *	cc -O2 -o calls tests/bench/calls.c && taskset -c 0 ./calls
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define CALLS 300000
#define ANSWER 42

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

static volatile char blocked;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static long call(void)
{
	long answer = SYS_getppid;

	asm volatile("syscall" : "+a"(answer) : : "rcx", "r11", "memory");
	return answer;
}

static double by_ptrace(void)
{
	struct user_regs_struct registers;
	pid_t program = fork();
	double began_ns, took_ns;
	int status;

	if (!program) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		for (;;)
			call();
	}
	waitpid(program, &status, 0);
	began_ns = now_ns();
	for (int i = 0; i < CALLS; i++) {
		ptrace(PTRACE_SYSEMU, program, 0, 0);
		waitpid(program, &status, 0);
		ptrace(PTRACE_GETREGS, program, 0, &registers);
		registers.rax = ANSWER;
		ptrace(PTRACE_SETREGS, program, 0, &registers);
	}
	took_ns = now_ns() - began_ns;
	kill(program, SIGKILL);
	waitpid(program, &status, 0);
	return took_ns / CALLS;
}

static void carry_out(int signal, siginfo_t *info, void *context)
{
	ucontext_t *program = context;

	program->uc_mcontext.gregs[REG_RAX] = ANSWER;
}

/* Only the C library's text calls the host, with the return from a signal. */
static double by_signal(void)
{
	struct sigaction action = { .sa_sigaction = carry_out, .sa_flags = SA_SIGINFO | SA_NODEFER };
	unsigned long from = 0, to = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	double began_ns, took_ns;
	int wrong = 0;

	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so") && strstr(line, "r-xp"))
			sscanf(line, "%lx-%lx", &from, &to);
	fclose(maps);
	sigaction(SIGSYS, &action, NULL);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, from, to - from, &blocked))
		return -1;
	began_ns = now_ns();
	blocked = 1;
	for (int i = 0; i < CALLS; i++)
		wrong += call() != ANSWER;
	blocked = 0;
	took_ns = now_ns() - began_ns;
	return wrong ? -1 : took_ns / CALLS;
}

int main(void)
{
	printf("ptrace %.0f ns a call\n", by_ptrace());
	printf("signal %.0f ns a call\n", by_signal());
	return 0;
}
