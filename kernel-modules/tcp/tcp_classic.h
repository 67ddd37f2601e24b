/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the published algorithms of 1988 to 2002 have in common and today's kernel does otherwise.
 *
 * The modules use the kernel's .cong_control hook. It runs once for each acknowledgement, after the
 * recovery state machine (tcp_fastretrans_alert) and before anything is sent. It replaces
 * proportional rate reduction (RFC 6937) and appropriate byte counting (RFC 3465), which came
 * later. Without it the kernel sets cwnd itself all through Recovery.
 *
 * The kernel's cwnd counts segments in the network. A duplicate acknowledgement raises
 * tp->sacked_out, which takes a segment out of tcp_packets_in_flight(). That is the window
 * inflation of RFC 2001 section 4, seen from the other side. So cwnd itself stays at ssthresh
 * during fast recovery, and no inflated value must be taken back afterwards.
 */
#ifndef HOPLAB_TCP_CLASSIC_H
#define HOPLAB_TCP_CLASSIC_H

#include <linux/version.h>
#include <net/tcp.h>

/* From 6.10 on the hook gets the acknowledged number and the flags of tcp_ack() too. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define CLASSIC_CONG_CONTROL(name)						\
	void name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#else
#define CLASSIC_CONG_CONTROL(name)						\
	void name(struct sock *sk, const struct rate_sample *rs)
#endif

/* From 7.1 the start of sending has a hook of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define CLASSIC_TX_START	.cwnd_event_tx_start = classic_restart_after_idle
#else
#define CLASSIC_TX_START	.cwnd_event = classic_cwnd_event
#endif

/* First member of each module's private state. */
struct classic {
	u32	una;		/* snd_una after the last acknowledgement */
	u8	held;		/* segments taken off cwnd while in Disorder */
	bool	recovering;	/* the state Recovery has been entered and seen */
};

/*
 * TCP small queues (2012) limit what a socket may have in the queue of its own interface. It may
 * have a millisecond's worth of its pacing rate, but two segments at least. The pacing rate is up
 * to modules with .cong_control; without one, sysctl tcp_limit_output_bytes is the limit.
 */
static inline void classic_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct classic *ca = inet_csk_ca(sk);

	ca->una = tp->snd_una;
	ca->held = 0;
	ca->recovering = false;
	WRITE_ONCE(sk->sk_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
}

/*
 * The kernel calls the hooks before .init, with a private state of zeros. It does so for the
 * acknowledgement of a SYN, and when a SYN's timer runs out. There is nothing to control yet. The
 * kernel sets what these calls leave in cwnd and ssthresh anew when the connection is there
 * (tcp_init_transfer).
 */
static inline bool classic_began(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_initialized;
}

/*
 * These algorithms know cumulative acknowledgements only. Where the connection agreed on SACK
 * (RFC 2018), the sender forgets it, so a flow can be Tahoe although its station has SACK on.
 * A connection that switches algorithm while segments are out keeps SACK: its scoreboard is in
 * use, and the code below copes with either.
 */
static inline void classic_forget_sack(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->packets_out)
		tp->rx_opt.sack_ok &= ~TCP_SACK_SEEN;
}

/* Did this acknowledgement move snd_una? To be asked once for each. */
static inline bool classic_advanced(struct sock *sk)
{
	struct classic *ca = inet_csk_ca(sk);
	u32 una = tcp_sk(sk)->snd_una;
	bool advanced = after(una, ca->una);

	ca->una = una;
	return advanced;
}

/* Half of what is allowed to be out, at least two segments (RFC 2001 section 4, step 1). */
static inline u32 classic_half_window(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct classic *ca = inet_csk_ca(sk);
	u32 window = min(tcp_snd_cwnd(tp) + ca->held, tp->snd_wnd / max(tp->mss_cache, 1U));

	return max(window >> 1, 2U);
}

/*
 * Limited transmit (RFC 3042, 2001) has no switch in the kernel: the first two duplicate
 * acknowledgements lower the count in flight, so new segments follow. Lowering cwnd by as much
 * while the state is Disorder holds them back.
 */
static inline void classic_release(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct classic *ca = inet_csk_ca(sk);

	tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + ca->held);
	ca->held = 0;
}

static inline void classic_hold(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct classic *ca = inet_csk_ca(sk);

	ca->held = min3(tp->sacked_out, tcp_snd_cwnd(tp) - 1, 255U);
	tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) - ca->held);
}

/*
 * Slow start and congestion avoidance, one step for each acknowledgement of new data however
 * many segments it covers (RFC 2001 sections 1 and 2).
 */
static inline void classic_grow(struct sock *sk)
{
	tcp_reno_cong_avoid(sk, tcp_sk(sk)->snd_una, 1);
}

/*
 * The window of fast recovery. The acknowledgement that starts it must send the retransmission
 * whatever the window says; then the window is what the algorithm wants.
 */
static inline void classic_recovery_window(struct sock *sk, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct classic *ca = inet_csk_ca(sk);

	if (!ca->recovering) {
		ca->recovering = true;
		/* Undoing a reduction (Eifel, RFC 4015; DSACK) is younger than the algorithms. */
		tp->undo_marker = 0;
		tp->prior_ssthresh = 0;
		window = max(window, tcp_packets_in_flight(tp) + 1);
	}
	tcp_snd_cwnd_set(tp, window);
}

/*
 * Jacobson 1988 and BSD: slow start when nothing was sent for a timeout. The kernel leaves that
 * to modules with .cong_control.
 */
static inline void classic_restart_after_idle(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct dst_entry *dst = __sk_dst_get(sk);
	u32 initial = dst ? dst_metric(dst, RTAX_INITCWND) : 0;

	if (!READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return;
	if ((s32)(tcp_jiffies32 - tp->lsndtime) > (s32)inet_csk(sk)->icsk_rto)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), max(initial, 1U)));
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
static inline void classic_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		classic_restart_after_idle(sk);
}
#endif

/* F-RTO (RFC 5682) sends new segments after a timeout; its state is read after this hook. */
static inline void classic_in_ack_event(struct sock *sk, u32 flags)
{
	tcp_sk(sk)->frto = 0;
}

#endif
