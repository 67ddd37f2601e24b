/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a copy of the guest (copies.c): an epoll of its own, since the other one is the original's
 * too. Signals come to the copy's process. The file that includes this one is arch/um/kernel/irq.c.
 */

int renew_epoll(void)
{
	struct irq_entry *entry;
	int err;

	os_close_epoll_fd();
	err = os_setup_epoll();
	if (err < 0)
		return err;
	list_for_each_entry(entry, &active_fds, list) {
		err = os_set_fd_async(entry->fd);
		if (err < 0)
			return err;
		update_irq_entry(entry);
	}
	return 0;
}
