// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prague: the scalable congestion control of L4S, after draft-briscoe-iccrg-prague-congestion-control
 * revision 04 (July 2024), whose sections are named below. It is for kernels with accurate ECN
 * feedback (RFC 9768).
 *
 * The draft's optional fall-back at a classic ECN bottleneck is not here. The dependence on the round
 * trip is reduced from the start, and not after some hundred round trips (2.4.4). A flow's bursts are
 * the kernel's own (2.5.2).
 */

#include <linux/module.h>
#include <linux/inet_diag.h>
#include <net/tcp.h>
#include <net/tcp_ecn.h>

#define UNIT_SHIFT	20	/* a segment, a probability of 1 */
#define UNIT		(1ULL << UNIT_SHIFT)
#define GAIN_SHIFT	4	/* 2.3.2: g = 1/16 */
#define LEAST_WINDOW	2U

static unsigned int rtt_virt_us __read_mostly = 25000;
module_param(rtt_virt_us, uint, 0644);
MODULE_PARM_DESC(rtt_virt_us, "round trip of which a shorter one has the rate (2.4.4), us");

struct prague {
	u64	window;		/* congestion window, segments in UNITs */
	u64	alpha_stamp;	/* us: when alpha was updated */
	u64	reduced_stamp;	/* us: when the window was reduced for marks */
	u32	alpha;		/* mean share of marks, in UNITs */
	u32	next_seq;	/* alpha is updated when it is acknowledged */
	u32	old_delivered;	/* at the last update */
	u32	old_ce;
	u32	seen_ce;	/* at the last acknowledgement */
	u32	loss_window;	/* before the last loss, segments */
	bool	began;
};

static struct tcp_congestion_ops prague_reno;

/*
 * Packets of L4S bear ECT(1) (RFC 9331 4.1). The kernel marks each packet of a connection with
 * accurate feedback as ECT(0), in tcp_ecn_send(), and asks no module. So a connection gets a copy of
 * its address family's operations, as MPTCP's subflows do. Its queue_xmit sets the code point just
 * before IP reads it.
 */
struct prague_family {
	const struct inet_connection_sock_af_ops *kernel;
	struct inet_connection_sock_af_ops own;
};

static struct prague_family prague_ipv4, prague_ipv6;
static DEFINE_SPINLOCK(prague_families);

static struct prague_family *prague_family_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &prague_ipv6 : &prague_ipv4;
}

static int prague_queue_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	if (INET_ECN_is_capable(inet_sk(sk)->tos))
		__INET_ECN_xmit(sk, true);
	return prague_family_of(sk)->kernel->queue_xmit(sk, skb, fl);
}

static void prague_send_ect_1(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct prague_family *family = prague_family_of(sk);

	spin_lock_bh(&prague_families);
	if (!family->kernel) {
		family->own = *icsk->icsk_af_ops;
		family->own.queue_xmit = prague_queue_xmit;
		family->kernel = icsk->icsk_af_ops;
	}
	spin_unlock_bh(&prague_families);
	/* Another module's operations stay, and so do those of IPv4 in a socket of IPv6. */
	if (icsk->icsk_af_ops == family->kernel)
		WRITE_ONCE(icsk->icsk_af_ops, &family->own);
}

static void prague_release(struct sock *sk)
{
	struct prague_family *family = prague_family_of(sk);

	if (inet_csk(sk)->icsk_af_ops == &family->own)
		WRITE_ONCE(inet_csk(sk)->icsk_af_ops, family->kernel);
}

static u64 prague_rtt_virt(const struct tcp_sock *tp)
{
	return max_t(u64, tp->srtt_us >> 3, READ_ONCE(rtt_virt_us));
}

static void prague_begin_round(const struct tcp_sock *tp, struct prague *ca)
{
	ca->next_seq = tp->snd_nxt;
	ca->old_delivered = tp->delivered;
	ca->old_ce = tp->delivered_ce;
	ca->alpha_stamp = tp->tcp_mstamp;
}

static void prague_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	if (sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE && !tcp_ecn_mode_accecn(tp)) {
		/* 2.3.1: without accurate feedback it is no L4S flow. */
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &prague_reno);
		INET_ECN_dontxmit(sk);
		return;
	}
	*ca = (struct prague) {
		.window = (u64)tcp_snd_cwnd(tp) << UNIT_SHIFT,
		/* 2.4.5: the first mark halves the window of slow start. */
		.alpha = UNIT,
		.seen_ce = tp->delivered_ce,
		.began = true,
	};
	prague_begin_round(tp, ca);
	prague_send_ect_1(sk);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* 2.3.2: once in a virtual round trip, and not before a real one. */
static void prague_update_alpha(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 delivered = tp->delivered - ca->old_delivered;
	u64 share;

	if (before(tp->snd_una, ca->next_seq) ||
	    tp->tcp_mstamp - ca->alpha_stamp < prague_rtt_virt(tp) || !delivered)
		return;
	share = min_t(u64, div_u64((u64)(tp->delivered_ce - ca->old_ce) << UNIT_SHIFT, delivered),
		      UNIT);
	WRITE_ONCE(ca->alpha, ca->alpha - (ca->alpha >> GAIN_SHIFT) + (u32)(share >> GAIN_SHIFT));
	prague_begin_round(tp, ca);
}

/* 2.4.2: by half of alpha, once in a virtual round trip. */
static void prague_reduce(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	if (ca->reduced_stamp && tp->tcp_mstamp - ca->reduced_stamp < prague_rtt_virt(tp))
		return;
	ca->reduced_stamp = tp->tcp_mstamp;
	ca->window -= mul_u64_u32_shr(ca->window, ca->alpha, UNIT_SHIFT + 1);
	ca->window = max_t(u64, ca->window, (u64)LEAST_WINDOW << UNIT_SHIFT);
	tp->snd_ssthresh = max_t(u32, ca->window >> UNIT_SHIFT, LEAST_WINDOW);
}

/*
 * 2.4.3: a segment for a window of segments without marks. 2.4.4: less where the round trip is below
 * the virtual one, so that the rate grows as with the latter.
 */
static u64 prague_increase(const struct sock *sk, u32 unmarked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct prague *ca = inet_csk_ca(sk);
	u64 rtt = max_t(u64, tp->srtt_us >> 3, 1), virt = prague_rtt_virt(tp);
	u64 share = div64_u64(rtt << UNIT_SHIFT, virt);
	u64 each = (share * share) >> UNIT_SHIFT;

	return div64_u64((unmarked * each) << UNIT_SHIFT, ca->window);
}

static void prague_pace(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct prague *ca = inet_csk_ca(sk);
	u64 rate = (ca->window * tp->mss_cache) >> 10;

	/* 2.5.1: the window in a round trip; in slow start twice as fast. */
	if (tcp_in_slow_start(tp))
		rate <<= 1;
	rate = div64_u64(rate * USEC_PER_SEC, max(tp->srtt_us >> 3, 1U)) >> (UNIT_SHIFT - 10);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void prague_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 acked = max(rs->acked_sacked, 0), ce;

	if (!ca->began)
		return;
	ce = min(tp->delivered_ce - ca->seen_ce, acked);
	if (tp->delivered_ce != ca->seen_ce)
		prague_reduce(sk);
	ca->seen_ce = tp->delivered_ce;
	if (inet_csk(sk)->icsk_ca_state <= TCP_CA_CWR && tcp_is_cwnd_limited(sk)) {
		if (tcp_in_slow_start(tp))
			ca->window += (u64)(acked - ce) << UNIT_SHIFT;
		else
			ca->window += prague_increase(sk, acked - ce);
	}
	ca->window = min_t(u64, ca->window, (u64)tp->snd_cwnd_clamp << UNIT_SHIFT);
	prague_update_alpha(sk);
	/* After a timeout the window grows again from what is out. */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Loss && tcp_in_slow_start(tp))
		ca->window += (u64)acked << UNIT_SHIFT;
	tcp_snd_cwnd_set(tp, max_t(u32, ca->window >> UNIT_SHIFT, 1));
	prague_pace(sk);
}

/* 2.4.1: a loss is answered as Reno does. */
static u32 prague_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	ca->loss_window = tcp_snd_cwnd(tp);
	return max(tcp_snd_cwnd(tp) >> 1, LEAST_WINDOW);
}

static void prague_set_state(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	if (!ca->began || state == inet_csk(sk)->icsk_ca_state)
		return;
	if (state == TCP_CA_Recovery)
		ca->window = (u64)tp->snd_ssthresh << UNIT_SHIFT;
	else if (state == TCP_CA_Loss)
		ca->window = (u64)tcp_snd_cwnd(tp) << UNIT_SHIFT;
}

static u32 prague_undo(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	u32 window = max(tcp_snd_cwnd(tcp_sk(sk)), ca->loss_window);

	ca->window = (u64)window << UNIT_SHIFT;
	return window;
}

static size_t prague_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct prague *ca = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_DCTCPINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->dctcp, 0, sizeof(info->dctcp));
	info->dctcp.dctcp_enabled = 1;
	info->dctcp.dctcp_alpha = READ_ONCE(ca->alpha) >> (UNIT_SHIFT - 10);
	*attr = INET_DIAG_DCTCPINFO;
	return sizeof(info->dctcp);
}

static struct tcp_congestion_ops prague __read_mostly = {
	.init		= prague_init,
	.release	= prague_release,
	.ssthresh	= prague_ssthresh,
	.undo_cwnd	= prague_undo,
	.cong_control	= prague_cong_control,
	.set_state	= prague_set_state,
	.get_info	= prague_get_info,
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN |
			  TCP_CONG_ECT_1_NEGOTIATION | TCP_CONG_NO_FALLBACK_RFC3168,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

static struct tcp_congestion_ops prague_reno __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "prague-reno",
};

static int __init prague_register(void)
{
	BUILD_BUG_ON(sizeof(struct prague) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&prague);
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&prague);
}

module_init(prague_register);
module_exit(prague_unregister);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Prague (draft-briscoe-iccrg-prague-congestion-control-04)");
