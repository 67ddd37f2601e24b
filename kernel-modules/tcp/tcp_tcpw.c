// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Westwood as published in 2002, before the filter of Westwood+ (the kernel's "westwood").
 *
 * Casetti, Gerla, Mascolo, Sanadidi, Wang, Wireless Networks 8, 2002. The sender estimates the rate
 * at which its data reach the receiver from each acknowledgement (tcpw_filter.h). After three
 * duplicate acknowledgements it sets ssthresh = estimate * RTTmin / segment and cwnd = min(cwnd,
 * ssthresh). After a timeout it sets the same ssthresh and cwnd = 1. Everything else is NewReno
 * (RFC 6582), as in the authors' simulations, with the kernel's retransmissions.
 *
 * The estimate is readable with TCP_CC_INFO and sock_diag as struct tcp_bbr_info. That is the one
 * layout of the kernel's that has a rate. Its fields:
 *
 * - bbr_bw_lo and bbr_bw_hi: the estimate in byte/s
 * - bbr_min_rtt: RTTmin in us
 * - bbr_pacing_gain: the last sample b_k in byte/s
 * - bbr_cwnd_gain: the number of bytes counted since the start (modulo 2^32)
 */

#include <linux/inet_diag.h>
#include <linux/module.h>
#include "tcp_classic.h"
#include "tcpw_filter.h"

static unsigned int tau_ms = 500;
static unsigned int m = 2;

struct tcpw {
	struct classic		classic;
	u32			una;		/* acknowledged when bytes were counted last */
	u32			accounted;	/* bytes that duplicates have counted already */
	u32			rtt_min_us;	/* 0: not measured yet */
	u32			counted;	/* bytes in all */
	u32			tau_us;		/* the module's parameters when the flow began */
	u32			m;
	struct tcpw_filter	filter;
};

static void tcpw_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct tcpw *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	classic_init(sk);
	ca->una = tp->snd_una;
	ca->tau_us = READ_ONCE(tau_ms) * USEC_PER_MSEC;
	ca->m = READ_ONCE(m);
	ca->filter.at_us = tp->tcp_mstamp;
}

static void tcpw_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct tcpw *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0 && (!ca->rtt_min_us || sample->rtt_us < ca->rtt_min_us))
		ca->rtt_min_us = sample->rtt_us;
}

/*
 * Bytes that an acknowledgement tells to have arrived (procedure AckedCount of the paper). A
 * duplicate stands for one segment. What duplicates have counted is taken off the cumulative
 * acknowledgement that follows them. At least one segment remains of it.
 */
static u32 tcpw_acked_bytes(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcpw *ca = inet_csk_ca(sk);
	u32 segment = tp->mss_cache;
	u32 bytes = tp->snd_una - ca->una;

	ca->una = tp->snd_una;
	if (!bytes) {
		ca->accounted += segment;
		return segment;
	}
	if (bytes <= segment)
		return bytes;
	if (ca->accounted >= bytes) {
		ca->accounted -= bytes;
		return segment;
	}
	bytes -= ca->accounted;
	ca->accounted = 0;
	return bytes;
}

/*
 * The paper's ssthresh. The duplicate acknowledgement that starts recovery asks for it before
 * its own bytes are counted: that leaves out one sample of many.
 */
static u32 tcpw_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcpw *ca = inet_csk_ca(sk);
	u64 bytes;

	if (!classic_began(sk))
		return classic_half_window(sk);
	tcpw_idle(&ca->filter, ca->tau_us, ca->m, tp->tcp_mstamp);
	/* At most 2^32 byte/s and, without loss of anything real, 2^27 us (134 s). */
	bytes = (ca->filter.estimate >> TCPW_UNIT_SHIFT) * min(ca->rtt_min_us, 1U << 27);
	bytes = div_u64(bytes, USEC_PER_SEC);
	return max_t(u32, div_u64(bytes, max(tp->mss_cache, 1U)), 2);
}

static CLASSIC_CONG_CONTROL(tcpw_cong_control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct tcpw *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool advanced;

	if (!classic_began(sk))
		return;
	advanced = classic_advanced(sk);
	/*
	 * No new data and nothing delivered: not a duplicate but an acknowledgement that came with
	 * the other side's data. In Loss the kernel does not count duplicates as delivered.
	 */
	if (advanced || rs->acked_sacked > 0 || state == TCP_CA_Loss) {
		u32 bytes = tcpw_acked_bytes(sk);

		ca->counted += bytes;
		tcpw_acknowledge(&ca->filter, ca->tau_us, ca->m, tp->tcp_mstamp, bytes);
	}

	if (state == TCP_CA_Recovery || state == TCP_CA_CWR) {
		/* cwnd only falls here: the first time to ssthresh, then it stays. */
		u32 window = ca->classic.recovering ? tp->snd_ssthresh : tcp_snd_cwnd(tp);

		window = min(window, tp->snd_ssthresh);
		if (state == TCP_CA_CWR)
			tcp_snd_cwnd_set(tp, window);
		else
			classic_recovery_window(sk, window);
		return;
	}
	ca->classic.recovering = false;
	if (advanced)
		classic_grow(sk);
}

static size_t tcpw_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct tcpw *ca = inet_csk_ca(sk);
	u64 rate = ca->filter.estimate >> TCPW_UNIT_SHIFT;

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = (u32)rate;
	info->bbr.bbr_bw_hi = (u32)(rate >> 32);
	info->bbr.bbr_min_rtt = ca->rtt_min_us;
	info->bbr.bbr_pacing_gain = (u32)min_t(u64, ca->filter.sample >> TCPW_UNIT_SHIFT, U32_MAX);
	info->bbr.bbr_cwnd_gain = ca->counted;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops tcpw __read_mostly = {
	.init		= tcpw_init,
	.ssthresh	= tcpw_ssthresh,
	.cong_control	= tcpw_cong_control,
	.pkts_acked	= tcpw_pkts_acked,
	CLASSIC_TX_START,
	.in_ack_event	= classic_in_ack_event,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= tcpw_get_info,
	.owner		= THIS_MODULE,
	.name		= "tcpw",
};

static int tcpw_set_tau(const char *value, const struct kernel_param *parameter)
{
	return param_set_uint_minmax(value, parameter, TCPW_TAU_MIN_US / 1000,
				     TCPW_TAU_MAX_US / 1000);
}

static int tcpw_set_m(const char *value, const struct kernel_param *parameter)
{
	return param_set_uint_minmax(value, parameter, TCPW_M_MIN, TCPW_M_MAX);
}

static const struct kernel_param_ops tcpw_tau_ops = {
	.set	= tcpw_set_tau,
	.get	= param_get_uint,
};

static const struct kernel_param_ops tcpw_m_ops = {
	.set	= tcpw_set_m,
	.get	= param_get_uint,
};

module_param_cb(tau, &tcpw_tau_ops, &tau_ms, 0644);
MODULE_PARM_DESC(tau, "time constant of the filter in ms, 1 to 4000 (500); new flows take it");
module_param_cb(m, &tcpw_m_ops, &m, 0644);
MODULE_PARM_DESC(m, "a virtual sample each tau/m without acknowledgement, 2 to 32 (2)");

static int __init tcpw_register(void)
{
	BUILD_BUG_ON(sizeof(struct tcpw) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcpw);
}

static void __exit tcpw_unregister(void)
{
	tcp_unregister_congestion_control(&tcpw);
}

module_init(tcpw_register);
module_exit(tcpw_unregister);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Westwood (Casetti et al. 2002)");
