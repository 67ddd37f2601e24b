// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hoplab-resident: a daemon's own code, run within one system call of its process.
 *
 * A guest's process is a process of the host, so each of its system calls costs two switches
 * between programs. The DSR daemon (Rust, daemons/dsr) is linked into this kernel too. Its process
 * writes its document here, and the write returns when the daemon has ended. Until then the daemon
 * has the process's descriptors, namespaces and rights. What it asks of Linux are the same system
 * calls in the same order, as calls of functions. Each is followed by what follows a process's. So
 * virtual time, and the order in which processes run, are as for a daemon in its own memory.
 *
 * Such a process takes the host 10 ms to start, for a program that then never runs in it. So by the ioctl this
 * kernel starts the daemon itself. It is a child of the caller, in its namespaces, without memory of its own.
 *
 * The link leads what Rust's library takes from the C library to the functions at the end of this file
 * (scripts/daemons). What such a call points at is in this kernel's memory, not in the process's, which
 * thread.own_memory says to arch/um (hooks/resident-programs.patch).
 */

#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/resume_user_mode.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>
#include <hoplab/medium.h>
#include <hoplab/waits.h>

/* The table of system calls; the second name is that of kernels from 7.0 on. */
#if __has_include(<sysdep/syscalls.h>)
#include <sysdep/syscalls.h>
#else
#include <asm/syscall.h>
#endif

#define LARGEST_DOCUMENT (64 << 20)

/* _IO('h', 3); its answer is the child's number */
#define HOPLAB_RESIDENT_START 0x6803

/* The program's name, a line, and its document; and where its output goes. */
struct wanted {
	u64 document;
	u64 length;
	s32 output;
	u32 zero;
};

/* A program that begins, in the memory of its parent. */
struct start {
	u8 *document;
	size_t length;
	struct file *output;
	struct completion *begun;
};

/* Where a handler of signals would be, for a program that never leaves the kernel. */
#define NOTED ((__sighandler_t)(TASK_SIZE - 1))

/* What a program in a process's own memory would have as its statics. */
struct resident {
	u64 own[HOPLAB_OWN_OCTETS / sizeof(u64)];
	struct waits waits;
	/* It has no process that does so. */
	bool notes_signals;
};

/* A kernel that is linked without the daemon has this, which refuses. */
bool __weak hoplab_dsr_run(const u8 *document, size_t length) { return false; }

/* The one processor has one, as Rust reads it before anything else happens. */
static int error_of_call;

/*
 * As handle_syscall() and interrupt_end() do for a process, but for signals: those are the process's, when
 * the program has ended.
 */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
	struct waits *waits = &((struct resident *)current->thread.resident)->waits;
	long result = -EOPNOTSUPP;

	/* Nothing more is done for a process that was killed. Its program would try an interrupted call again. */
	if (fatal_signal_pending(current)) {
		hoplab_waits_end(waits);
		do_group_exit(SIGKILL);
	}
	if (number == __NR_close)
		hoplab_waits_forget(waits, a);
	current->thread.own_memory = true;
	if (number == __NR_ppoll)
		result = hoplab_waits_ppoll(waits, (struct pollfd *)a, b, (struct __kernel_timespec *)c,
					    (const sigset_t *)d, e);
	if (result == -EOPNOTSUPP)
		result = sys_call_table[number](a, b, c, d, e, f);
	current->thread.own_memory = false;
	if (IS_ERR_VALUE(result)) {
		um_udelay(1);
		schedule();
	}
	while (read_thread_flags() & (_TIF_NEED_RESCHED | _TIF_NOTIFY_RESUME)) {
		if (test_thread_flag(TIF_NEED_RESCHED))
			schedule();
		if (test_thread_flag(TIF_NOTIFY_RESUME))
			resume_user_mode_work(&current->thread.regs);
	}
	if (!IS_ERR_VALUE(result))
		return result;
	/* What the kernel keeps to itself, all of which a signal causes. */
	error_of_call = -result < ERESTARTSYS ? -result : EINTR;
	return -1;
}

/* For access_ok() and the copies of arch/um. */
bool calls_from_own_memory(void)
{
	return current->thread.own_memory;
}
EXPORT_SYMBOL(calls_from_own_memory);

u64 *hoplab_resident_own(void)
{
	return ((struct resident *)current->thread.resident)->own;
}

bool hoplab_resident_stopped(void)
{
	return signal_pending(current);
}

void hoplab_resident_catch(bool in_wait)
{
	struct resident *resident = current->thread.resident;
	struct k_sigaction *actions = current->sighand->action;
	sigset_t ending;

	if (!resident->notes_signals)
		return;
	siginitset(&ending, sigmask(SIGTERM) | sigmask(SIGINT));
	sigprocmask(in_wait ? SIG_BLOCK : SIG_UNBLOCK, &ending, NULL);
	spin_lock_irq(&current->sighand->siglock);
	actions[SIGTERM - 1].sa.sa_handler = NOTED;
	actions[SIGINT - 1].sa.sa_handler = NOTED;
	spin_unlock_irq(&current->sighand->siglock);
}

void hoplab_resident_died(const u8 *text, u32 length)
{
	panic("%s: %.*s", current->comm, (int)length, (const char *)text);
}

static void resident_forget(struct start *start)
{
	kvfree(start->document);
	if (start->output)
		fput(start->output);
	kfree(start);
}

/* Its rights are those of the process, so a process that may start daemons may start them here. */
static int resident_open(struct inode *inode, struct file *file)
{
	return time_travel_mode == TT_MODE_INFCPU ? stream_open(inode, file) : -EOPNOTSUPP;
}

/* Begin without anything of the parent's but its directory, namespaces and rights. */
static void resident_leave_parent(struct start *start)
{
	char name[TASK_COMM_LEN] = {};
	sigset_t none = {};
	int i;

	for (i = 0; i < start->length && i < sizeof(name) - 1 && start->document[i] != '\n'; i++)
		name[i] = start->document[i];
	set_task_comm(current, name);
	for (i = 0; i <= 2; i++) /* standard input, output and errors */
		replace_fd(i, start->output, 0);
	fput(start->output);
	start->output = NULL;
	do_close_on_exec(current->files);
	flush_signal_handlers(current, 1);
	sigprocmask(SIG_SETMASK, &none, NULL);
	spin_lock_irq(&current->sighand->siglock);
	current->sighand->action[SIGPIPE - 1].sa.sa_handler = SIG_IGN;
	spin_unlock_irq(&current->sighand->siglock);
	complete(start->begun);
}

static int resident_main(void *argument)
{
	struct resident resident = { .notes_signals = true };
	struct start *start = argument;
	bool done;

	resident_leave_parent(start);
	current->thread.resident = &resident;
	done = hoplab_dsr_run(start->document, start->length);
	hoplab_waits_end(&resident.waits);
	current->thread.resident = NULL;
	resident_forget(start);
	do_exit(done ? 0 : 1 << 8);
}

static long resident_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	DECLARE_COMPLETION_ONSTACK(begun);
	struct wanted wanted;
	struct start *start;
	long pid;

	if (command != HOPLAB_RESIDENT_START)
		return -ENOTTY;
	if (copy_from_user(&wanted, (void __user *)argument, sizeof(wanted)))
		return -EFAULT;
	if (!wanted.length || wanted.length > LARGEST_DOCUMENT || wanted.zero)
		return -EINVAL;
	start = kzalloc(sizeof(*start), GFP_KERNEL);
	if (!start)
		return -ENOMEM;
	start->length = wanted.length;
	start->begun = &begun;
	start->document = vmemdup_user(u64_to_user_ptr(wanted.document), wanted.length);
	start->output = fget(wanted.output);
	if (IS_ERR(start->document)) {
		pid = PTR_ERR(start->document);
		start->document = NULL;
	} else if (!start->output) {
		pid = -EBADF;
	} else {
		pid = user_mode_thread(resident_main, start, SIGCHLD);
	}
	if (pid < 0)
		resident_forget(start);
	else
		wait_for_completion(&begun); /* the program begins now, and not when its parent waits next */
	return pid;
}

/* 0 for a program that failed; it has said why. */
static ssize_t resident_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	struct resident resident = {};
	u8 *document;
	bool done;

	if (!length || length > LARGEST_DOCUMENT)
		return -EINVAL;
	if (current->thread.resident)
		return -EBUSY;
	document = vmemdup_user(from, length);
	if (IS_ERR(document))
		return PTR_ERR(document);
	current->thread.resident = &resident;
	done = hoplab_dsr_run(document, length);
	hoplab_waits_end(&resident.waits);
	current->thread.resident = NULL;
	kvfree(document);
	return done ? length : 0;
}

static const struct file_operations resident_operations = {
	.owner = THIS_MODULE,
	.open = resident_open,
	.write = resident_write,
	.unlocked_ioctl = resident_ioctl,
};

static struct miscdevice resident_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hoplab-resident",
	.fops = &resident_operations,
	.mode = 0600,
};

int __init hoplab_resident_init(void)
{
	return misc_register(&resident_device);
}

/*
 * The C library's functions that are a system call and nothing else. Registers that a call does not fill are
 * not read.
 */
#define CALL(name, number) \
	long hoplab_resident_call_##name(long a, long b, long c, long d, long e, long f); \
	long hoplab_resident_call_##name(long a, long b, long c, long d, long e, long f) \
	{ \
		return call(number, a, b, c, d, e, f); \
	}

CALL(accept4, __NR_accept4)
CALL(bind, __NR_bind)
CALL(clock_gettime, __NR_clock_gettime)
CALL(close, __NR_close)
CALL(connect, __NR_connect)
CALL(fstat64, __NR_fstat)
CALL(geteuid, __NR_geteuid)
CALL(ioctl, __NR_ioctl)
CALL(listen, __NR_listen)
CALL(lseek64, __NR_lseek)
CALL(open64, __NR_open)
CALL(read, __NR_read)
CALL(recvmmsg, __NR_recvmmsg)
CALL(sendmmsg, __NR_sendmmsg)
CALL(setgroups, __NR_setgroups)
CALL(setresgid, __NR_setresgid)
CALL(setresuid, __NR_setresuid)
CALL(setsockopt, __NR_setsockopt)
CALL(socket, __NR_socket)
CALL(stat64, __NR_stat)
CALL(statx, __NR_statx)
CALL(unlink, __NR_unlink)
CALL(write, __NR_write)
CALL(writev, __NR_writev)

long hoplab_resident_call_recv(long fd, long room, long size, long flags);
long hoplab_resident_call_recv(long fd, long room, long size, long flags)
{
	return call(__NR_recvfrom, fd, room, size, flags, 0, 0);
}

long hoplab_resident_call_send(long fd, long bytes, long size, long flags);
long hoplab_resident_call_send(long fd, long bytes, long size, long flags)
{
	return call(__NR_sendto, fd, bytes, size, flags, 0, 0);
}

long hoplab_resident_call_syscall(long number, long a, long b, long c, long d, long e, long f);
long hoplab_resident_call_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number < 0 || number >= __NR_syscalls) {
		error_of_call = ENOSYS;
		return -1;
	}
	return call(number, a, b, c, d, e, f);
}

int *hoplab_resident_call___errno_location(void);
int *hoplab_resident_call___errno_location(void)
{
	return &error_of_call;
}
