// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Tahoe: slow start, congestion avoidance and fast retransmit, without fast recovery.
 *
 * Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988. The third duplicate acknowledgement
 * does what a timeout does (Fall & Floyd 1996, section 2). The variable ssthresh becomes half the
 * window, cwnd one segment, and sending goes on from the first unacknowledged segment.
 *
 * In the kernel's terms: Recovery is turned into Loss as soon as the state machine enters it, and
 * everything out is marked lost. The kernel's retransmission in Loss then is Tahoe's: from
 * snd_una on as slow start allows, skipping what a cumulative acknowledgement has meanwhile
 * covered. Until everything that was out is acknowledged, duplicate acknowledgements do not start
 * another fast retransmit, as in ns-2 with its default bugFix_.
 */

#include <linux/module.h>
#include "tcp_classic.h"

struct tahoe {
	struct classic	classic;
};

static void tahoe_init(struct sock *sk)
{
	classic_init(sk);
	classic_forget_sack(sk);
}

/* As tcp_timeout_mark_lost() does at a timeout. */
static void tahoe_mark_all_lost(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sk_buff *skb = tcp_rtx_queue_head(sk);

	if (tcp_is_reno(tp))
		tp->sacked_out = 0;
	skb_rbtree_walk_from(skb) {
		struct tcp_skb_cb *scb = TCP_SKB_CB(skb);
		u32 segments = tcp_skb_pcount(skb);

		if (scb->sacked & TCPCB_SACKED_ACKED)
			continue;
		if (scb->sacked & TCPCB_SACKED_RETRANS) {
			scb->sacked &= ~TCPCB_SACKED_RETRANS;
			tp->retrans_out -= segments;
		}
		if (!(scb->sacked & TCPCB_LOST)) {
			scb->sacked |= TCPCB_LOST;
			tp->lost_out += segments;
			tp->lost += segments;
		}
	}
	tcp_clear_all_retrans_hints(tp);
}

static void tahoe_fast_retransmit(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tahoe_mark_all_lost(sk);
	/* ssthresh was set, and high_seq is snd_nxt: tcp_enter_recovery() has just run. */
	tp->undo_marker = 0;
	tp->prior_ssthresh = 0;
	tp->snd_cwnd_cnt = 0;
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
}

static CLASSIC_CONG_CONTROL(tahoe_cong_control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool advanced;

	if (!classic_began(sk))
		return;
	advanced = classic_advanced(sk);
	classic_release(sk);
	switch (inet_csk(sk)->icsk_ca_state) {
	case TCP_CA_Recovery:
		tahoe_fast_retransmit(sk);
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
		if (inet_csk(sk)->icsk_ca_state == TCP_CA_Disorder)
			classic_hold(sk);
	}
}

static void tahoe_set_state(struct sock *sk, u8 state)
{
	struct classic *ca = inet_csk_ca(sk);

	/* tcp_enter_loss() has set cwnd anew; nothing is held back from it. */
	if (state == TCP_CA_Loss)
		ca->held = 0;
}

static struct tcp_congestion_ops tahoe __read_mostly = {
	.init		= tahoe_init,
	.ssthresh	= classic_half_window,
	.cong_control	= tahoe_cong_control,
	.set_state	= tahoe_set_state,
	CLASSIC_TX_START,
	.in_ack_event	= classic_in_ack_event,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "tahoe",
};

static int __init tahoe_register(void)
{
	BUILD_BUG_ON(sizeof(struct tahoe) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tahoe);
}

static void __exit tahoe_unregister(void)
{
	tcp_unregister_congestion_control(&tahoe);
}

module_init(tahoe_register);
module_exit(tahoe_unregister);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Tahoe (Jacobson 1988)");
