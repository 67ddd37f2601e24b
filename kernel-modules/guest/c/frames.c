// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames for a resident program (resident.c), which reads them where its packet socket keeps them.
 *
 * IP has no use for packets of a protocol that a program serves. DSR's come with the addresses of
 * others, so strict reverse-path filtering discards them (daemons/dsr/src/stack.rs). But IP looks for
 * a route first, and each packet of a flood comes to every station from each of its neighbours. So a
 * packet that went to such a program goes no further.
 *
 * From a monitor interface the daemon wants unicast frames between others, and its socket's filter
 * refuses the rest. Mac80211 makes a copy of each frame for it first. So no copy is made of a frame that
 * is for all, where nobody else looks at what the radio's monitor interfaces bring.
 */

#include <linux/etherdevice.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/ip.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/cfg80211.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <hoplab/medium.h>

/* What af_packet.c has for a socket with a ring: too many frames are dropped, and each has a time. */
static void frame_came(struct sock *sk)
{
	struct sk_buff_head *frames = &sk->sk_receive_queue;
	struct sk_buff *frame = skb_peek_tail(frames);

	if (frame && (frames->qlen > sk->sk_max_ack_backlog || skb_linearize(frame))) {
		skb_unlink(frame, frames);
		kfree_skb(frame);
	} else if (frame && !frame->tstamp) {
		frame->tstamp = ktime_get_real();
	}
	sock_def_readable(sk);
}

/* As that, of a monitor interface from which the program wants frames between others. */
static void foreign_frame_came(struct sock *sk)
{
	frame_came(sk);
}

u8 *hoplab_resident_frames(s32 fd, u32 most, bool foreign)
{
	struct socket *socket;
	struct sock *sk;
	int error;

	socket = sockfd_lookup(fd, &error);
	if (!socket)
		return NULL;
	sk = socket->sk;
	if (sk->sk_family == PF_PACKET) {
		/* The number of frames is the only limit. A packet socket has no use for this one. */
		sk->sk_max_ack_backlog = most;
		sk->sk_rcvbuf = INT_MAX / 2;
		sk->sk_data_ready = foreign ? foreign_frame_came : frame_came;
		skb_queue_purge(&sk->sk_receive_queue); /* as a ring does, since none of them has a time */
	} else {
		sk = NULL;
	}
	/* The program keeps the descriptor for as long as it looks at the frames. */
	sockfd_put(socket);
	return (u8 *)sk;
}

u8 *hoplab_resident_frame(const u8 *frames, u32 *length, u64 *stamp)
{
	struct sk_buff *frame = skb_peek(&((struct sock *)frames)->sk_receive_queue);

	if (!frame)
		return NULL;
	*length = frame->len;
	*stamp = ktime_to_ns(frame->tstamp);
	return frame->data;
}

void hoplab_resident_taken(u8 *frames)
{
	consume_skb(skb_dequeue(&((struct sock *)frames)->sk_receive_queue));
}

/* Whether frames of the device go to this socket of a resident program. It may be gone, and its address
 * another one's.
 */
static bool frames_go_to(const struct net_device *dev, const void *sk)
{
	struct packet_type *tap;

	list_for_each_entry_rcu(tap, &dev->ptype_all, list)
		if (tap->af_packet_priv == sk)
			return ((struct sock *)tap->af_packet_priv)->sk_data_ready == frame_came;
	return false;
}

/* After all packet sockets of the interface. */
static rx_handler_result_t frame_taken(struct sk_buff **frame)
{
	const struct net_device *dev = (*frame)->dev;
	const struct iphdr *ip;
	struct iphdr room;

	if ((*frame)->protocol != htons(ETH_P_IP))
		return RX_HANDLER_PASS;
	ip = skb_header_pointer(*frame, 0, sizeof(room), &room);
	if (!ip || ip->protocol != HOPLAB_PROTOCOL_DSR ||
	    !frames_go_to(dev, rcu_dereference(dev->rx_handler_data)))
		return RX_HANDLER_PASS;
	consume_skb(*frame);
	return RX_HANDLER_CONSUMED;
}

void hoplab_resident_serves_dsr(const u8 *frames, s32 interface)
{
	struct sock *sk = (struct sock *)frames;
	struct net_device *dev;

	rtnl_lock();
	dev = __dev_get_by_index(sock_net(sk), interface);
	if (dev && rcu_access_pointer(dev->rx_handler) == frame_taken)
		netdev_rx_handler_unregister(dev); /* of a program before */
	/* What else has a handler there, a bridge say, leaves nothing for IP. */
	if (dev)
		netdev_rx_handler_register(dev, frame_taken, sk);
	rtnl_unlock();
}

static bool monitor_wants_foreign(struct net_device *monitor)
{
	struct packet_type *tap;

	/* Sockets of all interfaces count as the loopback interface's, too. */
	if (list_empty(&monitor->ptype_all) || dev_nit_active(dev_net(monitor)->loopback_dev))
		return false;
	list_for_each_entry_rcu(tap, &monitor->ptype_all, list)
		if (!tap->af_packet_priv ||
		    ((struct sock *)tap->af_packet_priv)->sk_data_ready != foreign_frame_came)
			return false;
	return true;
}

bool hoplab_frames_all_foreign(struct wiphy *wiphy)
{
	const struct wireless_dev *wdev;
	bool all = true;

	rcu_read_lock();
	list_for_each_entry_rcu(wdev, &wiphy->wdev_list, list)
		if (wdev->iftype == NL80211_IFTYPE_MONITOR && wdev->netdev)
			all = all && monitor_wants_foreign(wdev->netdev);
	rcu_read_unlock();
	return all;
}
EXPORT_SYMBOL_GPL(hoplab_frames_all_foreign);
