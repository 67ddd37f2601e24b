// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hoplab-sockets: what TCP says of many connections, at many times, in one call.
 *
 * A sample by sock_diag is a message and an answer for each end of each connection, in each end's
 * namespace. Most of an answer is what no table keeps. HOPLAB_SOCKETS takes a list of ends, and
 * writes what the tables keep. The values are those of sock_diag at the same instant
 * (net/ipv4/inet_diag.c and tcp_diag.c). hoplab/guest/probes/ends.py has the other side.
 *
 * To wake a process for each sample costs the host more than the sample does. So the caller sleeps
 * here from one sample to the next, and returns after the last one. If a child of it has ended or
 * was stopped, it returns after the sample that follows. So it does after a while of the host's
 * time, for those who watch a slow run. Neither takes virtual time, nor do the caller's readings of
 * the clock (free_readings.h), so a run is the same.
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/in6.h>
#include <linux/inet_diag.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <os.h>
#include <hoplab/clock.h>

/* _IO('h', 4) */
#define HOPLAB_SOCKETS 0x6804
/* Of all samples together. */
#define MOST_VALUES (1 << 20)
/* Of the host's time, after which a caller has what there is. */
#define FRESH_NS (20 * NSEC_PER_MSEC)
/* As a question to sock_diag has it; BBR and tcpw give their estimate for it. */
#define EXTENSIONS (1 << (INET_DIAG_VEGASINFO - 1))

struct end {
	s32 namespace; /* a descriptor */
	__be16 port;
	__be16 peer_port;
	/* Those of IPv4 are mapped ones (RFC 4291 2.5.5.2). */
	struct in6_addr address;
	struct in6_addr peer;
};

struct values {
	u64 bytes_acked;
	u64 bytes_received;
	u64 estimate;
	u32 rto;
	u32 unacked;
	u32 lost;
	u32 rtt;
	u32 rttvar;
	u32 snd_ssthresh;
	u32 snd_cwnd;
	u32 total_retrans;
	u32 min_rtt;
	u32 delivered_ce;
	u16 total_rto;
	u8 ca_state;
	u8 backoff;
	u8 options;
	u8 has_estimate;
	u8 is_there;
	u8 unused;
};

/* The ends follow it, and then the values of each end, a sample after the other. */
struct request {
	u64 first_ns; /* CLOCK_MONOTONIC; the next sample is due at once if that is over */
	u64 interval_ns;
	u32 samples;
	u32 taken; /* a caller that was interrupted asks for the rest by the same request */
	u32 count;
	u32 unused;
};

/* Since 6.18 the table of sockets is known by the namespace. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define TABLE_OF(net) net, (net)->ipv4.tcp_death_row.hashinfo
#else
#define TABLE_OF(net) net
#endif

/* The socket of a connection, which the caller puts; NULL for none. */
static struct sock *find(struct net *net, const struct end *end)
{
	u16 port = ntohs(end->port);
	struct sock *sk;

	rcu_read_lock();
	if (ipv6_addr_v4mapped(&end->address) && ipv6_addr_v4mapped(&end->peer))
		sk = __inet_lookup_established(TABLE_OF(net), end->peer.s6_addr32[3], end->peer_port,
					       end->address.s6_addr32[3], port, 0, 0);
	else
		sk = __inet6_lookup_established(TABLE_OF(net), &end->peer, end->peer_port,
						&end->address, port, 0, 0);
	rcu_read_unlock();
	return sk;
}

static void add_estimate(struct sock *sk, struct values *values)
{
	const struct tcp_congestion_ops *control;
	union tcp_cc_info told;
	int kind;

	rcu_read_lock();
	control = READ_ONCE(inet_csk(sk)->icsk_ca_ops);
	if (control && control->get_info && control->get_info(sk, EXTENSIONS, &kind, &told) &&
	    kind == INET_DIAG_BBRINFO) {
		values->estimate = (u64)told.bbr.bbr_bw_hi << 32 | told.bbr.bbr_bw_lo;
		values->has_estimate = true;
	}
	rcu_read_unlock();
}

static void look(struct sock *sk, struct values *values)
{
	struct tcp_info info;

	tcp_get_info(sk, &info);
	*values = (struct values){
		.bytes_acked = info.tcpi_bytes_acked,
		.bytes_received = info.tcpi_bytes_received,
		.rto = info.tcpi_rto,
		.unacked = info.tcpi_unacked,
		.lost = info.tcpi_lost,
		.rtt = info.tcpi_rtt,
		.rttvar = info.tcpi_rttvar,
		.snd_ssthresh = info.tcpi_snd_ssthresh,
		.snd_cwnd = info.tcpi_snd_cwnd,
		.total_retrans = info.tcpi_total_retrans,
		.min_rtt = info.tcpi_min_rtt,
		.delivered_ce = info.tcpi_delivered_ce,
		.total_rto = info.tcpi_total_rto,
		.ca_state = info.tcpi_ca_state,
		.backoff = info.tcpi_backoff,
		.options = info.tcpi_options,
		.is_there = true,
	};
	if (sk->sk_state < TCP_TIME_WAIT)
		add_estimate(sk, values);
}

static int answer(const struct end *end, struct values *values)
{
	struct net *net = get_net_ns_by_fd(end->namespace);
	struct sock *sk;

	if (IS_ERR(net))
		return PTR_ERR(net);
	sk = find(net, end);
	if (sk) {
		/* What waits after its end, and what is not accepted yet, has no such values. */
		if (sk_fullsock(sk))
			look(sk, values);
		sock_gen_put(sk);
	}
	put_net(net);
	return 0;
}

/* Take one sample. */
static int sample(const struct end __user *ends, struct values __user *to, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct values values = {};
		struct end end;
		int error;

		if (copy_from_user(&end, &ends[i], sizeof(end)))
			return -EFAULT;
		error = answer(&end, &values);
		if (error)
			return error;
		if (copy_to_user(&to[i], &values, sizeof(values)))
			return -EFAULT;
	}
	return 0;
}

static int sleep_until(ktime_t due)
{
	while (ktime_before(ktime_get(), due)) {
		if (signal_pending(current))
			return -EINTR;
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout_range(&due, 0, HRTIMER_MODE_ABS);
	}
	return 0;
}

/* Whether wait(2) would tell of a child. */
static bool child_has_changed(void)
{
	struct task_struct *thread, *child;
	bool has_changed = false;

	read_lock(&tasklist_lock);
	for_each_thread(current, thread)
		list_for_each_entry(child, &thread->children, sibling)
			has_changed |= child->exit_state == EXIT_ZOMBIE ||
				       child->signal->flags & SIGNAL_STOP_STOPPED;
	read_unlock(&tasklist_lock);
	return has_changed;
}

static long sockets_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct request __user *asked = (void __user *)argument;
	struct end __user *ends = (void __user *)(asked + 1);
	long long since = os_nsecs();
	struct values __user *values;
	struct request request;

	if (command != HOPLAB_SOCKETS)
		return -ENOTTY;
	if (copy_from_user(&request, asked, sizeof(request)))
		return -EFAULT;
	if (request.samples > MOST_VALUES || array_size(request.samples, request.count) > MOST_VALUES)
		return -E2BIG;
	/* Who sleeps from sample to sample does nothing else. */
	if (request.first_ns)
		time_travel_observe(current->mm);
	values = (void __user *)(ends + request.count);
	while (request.taken < request.samples) {
		u64 due = request.first_ns + request.taken * request.interval_ns;
		int error = sleep_until(ns_to_ktime(due)) ?:
			    sample(ends, values + request.taken * request.count, request.count);

		if (error)
			return error;
		request.taken++;
		if (put_user(request.taken, &asked->taken))
			return -EFAULT;
		if (child_has_changed() || os_nsecs() - since > FRESH_NS)
			break;
	}
	return 0;
}

/* It tells of every namespace of which there is a descriptor. */
static int sockets_open(struct inode *inode, struct file *file)
{
	return capable(CAP_NET_ADMIN) ? stream_open(inode, file) : -EPERM;
}

static int sockets_release(struct inode *inode, struct file *file)
{
	time_travel_observe(NULL);
	return 0;
}

static const struct file_operations sockets_operations = {
	.owner = THIS_MODULE,
	.open = sockets_open,
	.release = sockets_release,
	.unlocked_ioctl = sockets_ioctl,
};

static struct miscdevice sockets_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hoplab-sockets",
	.fops = &sockets_operations,
	.mode = 0600,
};

static int __init hoplab_sockets_init(void)
{
	return misc_register(&sockets_device);
}
device_initcall(hoplab_sockets_init);
