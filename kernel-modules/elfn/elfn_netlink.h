/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generic netlink family "elfn", version 1: what a program says to the module and reads from
 * it. Every command and every answer concerns the network namespace of the socket alone.
 *
 *   SET       needs CAP_NET_ADMIN. With LOCAL_PORT: for connections from this port, else for all
 *             others. Settings that are not given take their defaults. ENABLED 0 ends stand-by.
 *   NOTICE    UNREACHABLE: destinations to which a route failed; all connections to them stand by.
 *             RECORDS: lost-segment records as in a Route Error (docs/dsr.md). The socket must have
 *             been opened with CAP_NET_ADMIN; who drops privileges later may go on using it.
 *   GET       dump: a message a connection that has been in stand-by, with a TUPLE and the rest.
 *   COUNTERS  one answer: a u64 COUNTER a reason, in the order of enum elfn_count.
 *   EVENT     multicast in group "events": KIND, TIME_NS and the fields of the connection.
 */
#ifndef HOPLAB_ELFN_NETLINK_H
#define HOPLAB_ELFN_NETLINK_H

#define ELFN_FAMILY "elfn"
#define ELFN_GROUP "events"

enum {
	ELFN_CMD_UNSPEC,
	ELFN_CMD_SET,
	ELFN_CMD_NOTICE,
	ELFN_CMD_GET,
	ELFN_CMD_COUNTERS,
	ELFN_CMD_EVENT,
};

enum {
	ELFN_A_UNSPEC,
	ELFN_A_PAD,
	ELFN_A_ENABLED,		/* u8 */
	ELFN_A_PROBE_MS,	/* u32 */
	ELFN_A_GIVE_UP_MS,	/* u32 */
	ELFN_A_RESUME,		/* u8, enum elfn_resume */
	ELFN_A_FIRST_PROBE,	/* u8, enum elfn_first_probe */
	ELFN_A_LOCAL_PORT,	/* u16 */
	ELFN_A_RECORDS,		/* binary */
	ELFN_A_TUPLE,		/* binary, struct elfn_tuple */
	ELFN_A_STANDBY,		/* u8, 1 while in stand-by */
	ELFN_A_STANDBYS,	/* u32, how often */
	ELFN_A_STANDBY_NS,	/* u64, in sum, the present one included */
	ELFN_A_PROBES,		/* u32 */
	ELFN_A_NOTICES,		/* u32, accepted for this connection */
	ELFN_A_EARLY_ACKS,	/* u32, sent before the break, known by what they acknowledge */
	ELFN_A_RESENT,		/* u32, segments sent again after stand-by, probes not counted */
	ELFN_A_REASON,		/* string, why stand-by ended last */
	ELFN_A_KIND,		/* string: standby, probe, resume */
	ELFN_A_TIME_NS,		/* u64, CLOCK_REALTIME */
	ELFN_A_SEQ,		/* u32, sequence number that a notice named or a probe has */
	ELFN_A_CWND,		/* u32, segments */
	ELFN_A_SSTHRESH,	/* u32, segments */
	ELFN_A_RTO_US,		/* u32 */
	ELFN_A_COUNTER,		/* u64, repeated */
	ELFN_A_UNREACHABLE,	/* binary, IPv4 addresses */
	__ELFN_A_MAX,
};
#define ELFN_A_MAX (__ELFN_A_MAX - 1)

/* What a connection has after stand-by (Holland and Vaidya 1999, section on ELFN). */
enum elfn_resume {
	ELFN_RESUME_AS_BEFORE,		/* window and retransmission timer as they were */
	ELFN_RESUME_WINDOW_1,		/* a window of one segment, the timer as it was */
	ELFN_RESUME_DEFAULT_TIMER,	/* the window as it was, the timer of a new connection */
};

enum elfn_first_probe {
	/* When the retransmission timer would have fired, after PROBE_MS at the latest. */
	ELFN_FIRST_PROBE_RTO,
	/* After PROBE_MS. */
	ELFN_FIRST_PROBE_INTERVAL,
};

/* What became of a notice; one for each segment that it names, or each connection to a destination. */
enum elfn_count {
	ELFN_COUNT_STANDBY,		/* began a stand-by */
	ELFN_COUNT_REPEATED,		/* the connection was in stand-by already */
	ELFN_COUNT_MALFORMED,
	ELFN_COUNT_NO_CONNECTION,
	ELFN_COUNT_WRONG_STATE,		/* not established, or being closed */
	ELFN_COUNT_NOT_IN_FLIGHT,	/* RFC 5927 section 4.1 */
	ELFN_COUNT_SWITCHED_OFF,	/* ELFN is off for this connection */
	ELFN_COUNT_OVERLOAD,		/* too many at once, or out of memory */
	ELFN_COUNTS,
};

struct elfn_tuple {
	__be32	local;
	__be32	remote;
	__be16	local_port;
	__be16	remote_port;
};

/* One record of the extension. */
#define ELFN_RECORD_TYPE 0x54
#define ELFN_RECORD_DATA 18

enum elfn_fate {
	ELFN_FATE_DROPPED = 1,
	ELFN_FATE_SALVAGED = 2,		/* sent on along another route */
	ELFN_FATE_HELD = 3,		/* waits at the origin for a route */
};

struct elfn_record {
	__u8	type;
	__u8	length;
	__u8	fate;
	__u8	protocol;
	__be32	source;
	__be32	destination;
	__be16	source_port;
	__be16	destination_port;
	__be32	sequence;
} __attribute__((packed));

#endif
