// SPDX-License-Identifier: GPL-2.0-only
/*
 * A congestion window that stays: the end-to-end window of a Split-TCP source.
 *
 * Kopparty et al., "Split TCP for Mobile Ad Hoc Networks", GLOBECOM 2002. Local acknowledgements
 * govern the source's congestion window. It lies inside an end-to-end window, which the
 * destination's acknowledgements move. The kernel keeps the latter and all data in it. An agent
 * between the kernel and routing keeps the former (docs/split-tcp.md). So the kernel must not
 * answer losses, which the proxies repair, with a smaller window. What is lost all the same it
 * still sends again, by duplicate acknowledgements, SACK and its timer, which is untouched.
 *
 * A socket's window is its snd_cwnd_clamp where somebody has set that. A sock_ops program does so
 * with TCP_BPF_SNDCWND_CLAMP, and `ip route … cwnd lock N` does too. Else it is the module's
 * parameter.
 */

#include <linux/module.h>
#include "tcp_classic.h"

static unsigned int window __read_mostly = 64;
module_param(window, uint, 0644);
MODULE_PARM_DESC(window, "segments in flight, of sockets without a limit of their own");

static u32 window_of(struct sock *sk)
{
	u32 clamp = tcp_sk(sk)->snd_cwnd_clamp;

	return max(clamp != ~0U ? clamp : READ_ONCE(window), 1U);
}

static void window_set(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), window_of(sk));
}

static void window_init(struct sock *sk)
{
	classic_init(sk);
	window_set(sk);
}

static CLASSIC_CONG_CONTROL(window_cong_control)
{
	if (classic_began(sk))
		window_set(sk);
}

static void window_set_state(struct sock *sk, u8 state)
{
	/* tcp_enter_loss() has just made cwnd small. */
	if (state == TCP_CA_Loss && classic_began(sk))
		window_set(sk);
}

static struct tcp_congestion_ops fixed_window __read_mostly = {
	.init		= window_init,
	.ssthresh	= window_of,
	.undo_cwnd	= window_of,
	.cong_control	= window_cong_control,
	.set_state	= window_set_state,
	.owner		= THIS_MODULE,
	.name		= "window",
};

static int __init window_register(void)
{
	BUILD_BUG_ON(sizeof(struct classic) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&fixed_window);
}

static void __exit window_unregister(void)
{
	tcp_unregister_congestion_control(&fixed_window);
}

module_init(window_register);
module_exit(window_unregister);

MODULE_AUTHOR("Hoplab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A fixed window, end to end, beside Split-TCP (Kopparty et al. 2002)");
