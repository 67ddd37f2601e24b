// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hoplab-host: a line to the host in virtual time, for programs outside that decide what happens next.
 *
 * A read takes what has come, and waits for it in the host's own read(2). The kernel as a whole
 * stands still in that call, and virtual time with it, however long the other side takes. By a
 * terminal of the host's (con3=fd:...) time would go on to the next timer while the reader sleeps.
 *
 * The other end is a socket that the program which starts the kernel gives it as HOST_DESCRIPTOR.
 * Without one there is no such file. When the other side has closed it, a read gives the end of a
 * file.
 *
 * By HOPLAB_STAND_BY a program lets the host decide whether this guest goes on, or copies of it (copies.c).
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <os.h>
#include <hoplab/medium.h>

#define HOST_DESCRIPTOR 20
#define LONGEST 65536
/* _IO('h', 1) */
#define HOPLAB_STAND_BY 0x6801

static int host_open(struct inode *inode, struct file *file)
{
	return capable(CAP_SYS_ADMIN) ? stream_open(inode, file) : -EPERM;
}

static ssize_t host_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char *room;
	int length;

	size = min_t(size_t, size, LONGEST);
	room = kmalloc(size, GFP_KERNEL);
	if (!room)
		return -ENOMEM;
	do {
		length = os_read_file(HOST_DESCRIPTOR, room, size);
	} while (length == -EINTR);
	if (length > 0 && copy_to_user(to, room, length))
		length = -EFAULT;
	kfree(room);
	return length;
}

static ssize_t host_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *text;
	int length;

	size = min_t(size_t, size, LONGEST);
	text = memdup_user(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	do {
		length = os_write_file(HOST_DESCRIPTOR, text, size);
	} while (length == -EINTR);
	kfree(text);
	return length;
}

/* A kernel without copies. */
long __weak hoplab_stand_by(int line)
{
	return -ENOTTY;
}

static long host_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	return command == HOPLAB_STAND_BY ? hoplab_stand_by(HOST_DESCRIPTOR) : -ENOTTY;
}

static const struct file_operations host_operations = {
	.owner = THIS_MODULE,
	.open = host_open,
	.read = host_read,
	.write = host_write,
	.unlocked_ioctl = host_ioctl,
};

static struct miscdevice host_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hoplab-host",
	.fops = &host_operations,
	.mode = 0600,
};

int __init hoplab_host_init(void)
{
	struct uml_stat line;

	/* Now, since later the number may be that of a file which the kernel has opened itself. */
	if (time_travel_mode != TT_MODE_INFCPU || os_stat_fd(HOST_DESCRIPTOR, &line) < 0 ||
	    !S_ISSOCK(line.ust_mode))
		return 0;
	return misc_register(&host_device);
}
