// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Reno of 1990: fast recovery ends at the first acknowledgement of new data.
 *
 * RFC 2001 section 4. The kernel's "reno" is NewReno (RFC 6582). It stays in fast recovery until
 * everything is acknowledged that was out when the loss was noticed. It retransmits a segment at
 * each partial acknowledgement. The two differ in one number, the point at which recovery is over:
 * RFC 6582's "recover", the kernel's tp->high_seq. Here it is the first byte after snd_una. So any
 * acknowledgement of new data ends recovery, a partial one included, and nothing else is
 * retransmitted. Further losses of the window need three more duplicate acknowledgements or,
 * usually, the timer (Fall & Floyd 1996, section 3).
 */

#include <linux/module.h>
#include "tcp_classic.h"

struct reno {
	struct classic	classic;
};

static void reno_init(struct sock *sk)
{
	classic_init(sk);
	classic_forget_sack(sk);
}

static CLASSIC_CONG_CONTROL(reno_cong_control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct classic *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool advanced;

	if (!classic_began(sk))
		return;
	advanced = classic_advanced(sk);
	classic_release(sk);
	if (ca->recovering && state != TCP_CA_Recovery) {
		/* RFC 2001 section 4, step 3: the window goes back to ssthresh. */
		ca->recovering = false;
		if (state != TCP_CA_Loss) {
			tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
			advanced = false;
		}
	}
	switch (state) {
	case TCP_CA_Recovery:
		tp->high_seq = tp->snd_una + 1;
		classic_recovery_window(sk, tp->snd_ssthresh);
		break;
	case TCP_CA_CWR:
		/* Explicit congestion notification (RFC 3168 section 6.1.2) halves the window. */
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), tp->snd_ssthresh));
		break;
	case TCP_CA_Loss:
		/* Duplicates of what is sent twice must not clock out more. */
		if (tcp_is_reno(tp))
			tp->sacked_out = 0;
		fallthrough;
	default:
		if (advanced)
			classic_grow(sk);
		if (state == TCP_CA_Disorder)
			classic_hold(sk);
	}
}

static void reno_set_state(struct sock *sk, u8 state)
{
	struct classic *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (state != TCP_CA_Loss)
		return;
	/* tcp_enter_loss() has set cwnd anew; nothing is held back from it. */
	ca->held = 0;
	/*
	 * A timeout halves the window also when fast recovery has just halved it (RFC 2001
	 * section 2); the kernel regards both as one event. In recovery cwnd is ssthresh.
	 */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery)
		tp->snd_ssthresh = max(tp->snd_ssthresh >> 1, 2U);
	ca->recovering = false;
}

static struct tcp_congestion_ops reno_classic __read_mostly = {
	.init		= reno_init,
	.ssthresh	= classic_half_window,
	.cong_control	= reno_cong_control,
	.set_state	= reno_set_state,
	CLASSIC_TX_START,
	.in_ack_event	= classic_in_ack_event,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "reno_classic",
};

static int __init reno_register(void)
{
	BUILD_BUG_ON(sizeof(struct reno) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&reno_classic);
}

static void __exit reno_unregister(void)
{
	tcp_unregister_congestion_control(&reno_classic);
}

module_init(reno_register);
module_exit(reno_unregister);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Reno with the fast recovery of RFC 2001");
