// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hoplab-sockets: what TCP says of many connections, in one call.
 *
 * A sample by sock_diag is a message and an answer for each end of each connection, in each end's
 * namespace. Most of an answer is what no table keeps. HOPLAB_SOCKETS takes a list of ends, and
 * writes beside each what the tables keep. The values are those of sock_diag at the same instant
 * (net/ipv4/inet_diag.c and tcp_diag.c). hoplab/guest/probes/ends.py has the other side.
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/in6.h>
#include <linux/inet_diag.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/* _IO('h', 2) */
#define HOPLAB_SOCKETS 0x6802
#define MOST_ENDS 65536
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

struct ends {
	u32 count;
	u32 unused;
	struct {
		struct end end;
		struct values values;
	} list[];
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

static long sockets_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct ends __user *ends = (void __user *)argument;
	u32 count, i;
	int error;

	if (command != HOPLAB_SOCKETS)
		return -ENOTTY;
	if (get_user(count, &ends->count))
		return -EFAULT;
	if (count > MOST_ENDS)
		return -E2BIG;
	for (i = 0; i < count; i++) {
		struct values values = {};
		struct end end;

		if (copy_from_user(&end, &ends->list[i].end, sizeof(end)))
			return -EFAULT;
		error = answer(&end, &values);
		if (error)
			return error;
		if (copy_to_user(&ends->list[i].values, &values, sizeof(values)))
			return -EFAULT;
	}
	return 0;
}

/* It tells of every namespace of which there is a descriptor. */
static int sockets_open(struct inode *inode, struct file *file)
{
	return capable(CAP_NET_ADMIN) ? stream_open(inode, file) : -EPERM;
}

static const struct file_operations sockets_operations = {
	.owner = THIS_MODULE,
	.open = sockets_open,
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
