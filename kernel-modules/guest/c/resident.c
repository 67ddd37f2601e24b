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
 * The link leads what Rust's library takes from the C library to the functions at the end of this file
 * (scripts/daemons). What such a call points at is in this kernel's memory, not in the process's, which
 * thread.own_memory says to arch/um (hooks/resident-programs.patch).
 */

#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/resume_user_mode.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>
#include <net/sock.h>
#include <hoplab/medium.h>

/* The table of system calls; the second name is that of kernels from 7.0 on. */
#if __has_include(<sysdep/syscalls.h>)
#include <sysdep/syscalls.h>
#else
#include <asm/syscall.h>
#endif

#define LARGEST_DOCUMENT (64 << 20)

/* What a program in a process's own memory would have as its statics. */
struct resident {
	u64 own[HOPLAB_OWN_OCTETS / sizeof(u64)];
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
	long result;

	/* Nothing more is done for a process that was killed. Its program would try an interrupted call again. */
	if (fatal_signal_pending(current))
		do_group_exit(SIGKILL);
	current->thread.own_memory = true;
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

/* What af_packet.c has for a socket with a ring: too many frames are dropped, and each has a time. */
static void frame_came(struct sock *sk)
{
	struct sk_buff_head *frames = &sk->sk_receive_queue;
	struct sk_buff *frame = skb_peek_tail(frames);

	if (frame && (frames->qlen > sk->sk_max_ack_backlog || skb_linearize(frame))) {
		skb_unlink(frame, frames);
		kfree_skb(frame);
	} else if (frame && !frame->tstamp) {
		frame->tstamp = ktime_get_real();
	}
	sock_def_readable(sk);
}

u8 *hoplab_resident_frames(s32 fd, u32 most)
{
	struct socket *socket;
	struct sock *sk;
	int error;

	socket = sockfd_lookup(fd, &error);
	if (!socket)
		return NULL;
	sk = socket->sk;
	if (sk->sk_family == PF_PACKET) {
		/* The number of frames is the only limit. A packet socket has no use for this one. */
		sk->sk_max_ack_backlog = most;
		sk->sk_rcvbuf = INT_MAX / 2;
		sk->sk_data_ready = frame_came;
		skb_queue_purge(&sk->sk_receive_queue); /* as a ring does, since none of them has a time */
	} else {
		sk = NULL;
	}
	/* The program keeps the descriptor for as long as it looks at the frames. */
	sockfd_put(socket);
	return (u8 *)sk;
}

u8 *hoplab_resident_frame(const u8 *frames, u32 *length, u64 *stamp)
{
	struct sk_buff *frame = skb_peek(&((struct sock *)frames)->sk_receive_queue);

	if (!frame)
		return NULL;
	*length = frame->len;
	*stamp = ktime_to_ns(frame->tstamp);
	return frame->data;
}

void hoplab_resident_taken(u8 *frames)
{
	consume_skb(skb_dequeue(&((struct sock *)frames)->sk_receive_queue));
}

void hoplab_resident_died(const u8 *text, u32 length)
{
	panic("%s: %.*s", current->comm, (int)length, (const char *)text);
}

/* Its rights are those of the process, so a process that may start daemons may start them here. */
static int resident_open(struct inode *inode, struct file *file)
{
	return time_travel_mode == TT_MODE_INFCPU ? stream_open(inode, file) : -EOPNOTSUPP;
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
	current->thread.resident = NULL;
	kvfree(document);
	return done ? length : 0;
}

static const struct file_operations resident_operations = {
	.owner = THIS_MODULE,
	.open = resident_open,
	.write = resident_write,
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
