/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bandwidth estimate of TCP Westwood in integers. It is apart from the kernel's TCP so that a
 * test can run the same code against a floating-point reference.
 *
 * Casetti, Gerla, Mascolo, Sanadidi, Wang, "TCP Westwood: End-to-End Congestion Control for
 * Wired/Wireless Networks", Wireless Networks 8, 2002, section 2.2: the low-pass filter
 *
 *	b^_k = a_k b^_(k-1) + (1 - a_k) (b_k + b_(k-1)) / 2,  a_k = (2 tau - D_k) / (2 tau + D_k)
 *
 * over samples b_k = d_k / D_k, with D_k the time since the last sample. With 1 - a_k written out
 *
 *	b^_k = ((2 tau - D_k) b^_(k-1) + D_k (b_k + b_(k-1))) / (2 tau + D_k).
 *
 * Times are whole microseconds, rates units of 1/256 byte/s, every division rounds down.
 *
 * Error: b_k is at most one unit too small. If the estimate is at most e_(k-1) too small before a
 * step, it is at most
 *
 *	e_k = a_k e_(k-1) + (1 - a_k) + 1
 *
 * too small after it, and never too large. With D_k >= D that stays below 3/2 + tau / D + 1/2
 * units: tau = 0.5 s and an acknowledgement each millisecond give 502 units, 2 byte/s.
 *
 * Overflow: rates saturate at 2^32 byte/s, tau is at most 4 s and D_k at most tau. So the sum is
 * below 2^40 (2 * 2^22 + 2^22) < 2^64.
 */
#ifndef HOPLAB_TCPW_FILTER_H
#define HOPLAB_TCPW_FILTER_H

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}
#endif

#define TCPW_UNIT_SHIFT		8
#define TCPW_RATE_MAX		(1ULL << (32 + TCPW_UNIT_SHIFT))
#define TCPW_TAU_MIN_US		1000U
#define TCPW_TAU_MAX_US		4000000U
#define TCPW_M_MIN		2U
#define TCPW_M_MAX		32U

struct tcpw_filter {
	u64	estimate;	/* b^_k, 1/256 byte/s */
	u64	sample;		/* b_k, 1/256 byte/s */
	u64	at_us;		/* t_k */
	u32	carried;	/* bytes acknowledged within the microsecond of the last sample */
};

static inline void tcpw_step(struct tcpw_filter *f, u32 tau_us, u32 delta_us, u64 sample)
{
	u64 sum = (u64)(2 * tau_us - delta_us) * f->estimate +
		  (u64)delta_us * (sample + f->sample);

	f->estimate = div_u64(sum, 2 * tau_us + delta_us);
	f->sample = sample;
	f->at_us += delta_us;
}

/*
 * Virtual samples up to now: one of rate 0 for each tau / m without an acknowledgement (ibid.).
 * They keep D_k below the filter's time constant. Once the estimate is nothing, more of them change
 * only the time.
 */
static inline void tcpw_idle(struct tcpw_filter *f, u32 tau_us, u32 m, u64 now_us)
{
	u32 step_us = tau_us / m;

	while (now_us > f->at_us + step_us) {
		if (!f->estimate && !f->sample) {
			f->at_us += div64_u64(now_us - f->at_us - 1, step_us) * step_us;
			break;
		}
		tcpw_step(f, tau_us, step_us, 0);
	}
}

/* An acknowledgement of this many bytes. Several within one microsecond make one sample. */
static inline void tcpw_acknowledge(struct tcpw_filter *f, u32 tau_us, u32 m, u64 now_us,
				    u32 bytes)
{
	u64 sample;
	u32 delta_us;

	tcpw_idle(f, tau_us, m, now_us);
	f->carried += bytes;
	if (now_us <= f->at_us)
		return;
	delta_us = now_us - f->at_us;
	sample = div_u64((u64)f->carried * 1000000 << TCPW_UNIT_SHIFT, delta_us);
	if (sample > TCPW_RATE_MAX)
		sample = TCPW_RATE_MAX;
	f->carried = 0;
	tcpw_step(f, tau_us, delta_us, sample);
}

#endif
