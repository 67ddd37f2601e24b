// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hoplab-medium: a radio channel inside the guest's kernel, in virtual time.
 *
 * A program that opens the file writes a document, which starts the engine, and reads what it says.
 * It ends the engine by writing "end" or closing the file. "crash" is for tests of what follows a
 * defect. Any other write asks the engine for a change, now. Nothing else of a run passes here:
 * frames come from mac80211_hwsim by hoplab_medium_send().
 *
 * Time. The engine's deadlines are events of time travel itself, at its nanoseconds. No timer of
 * the kernel's stands between: it would know 256 ns, and at least 500 ns ahead. A frame that comes
 * at a deadline's instant comes after it, since the engine is brought to that instant first.
 *
 * Order. The engine's decisions are collected while it works and handed over by a tasklet, in their
 * order. What a host sends because of one is the engine's next input, never a call from within it.
 */

#include <linux/etherdevice.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <hoplab/clock.h>
#include <hoplab/medium.h>

#define LARGEST_DOCUMENT (64 << 20)
#define LONGEST_MESSAGE 4096
#define LONGEST_REQUEST 512
#define NEVER U64_MAX
#define END "end"
#define CRASH "crash"

/* An outcome on its way to mac80211. */
struct waiting {
	struct list_head list;
	struct hoplab_outcome outcome;
};

/* An engine decides; between runs mac80211_hwsim works as it always does. */
static bool is_on;
static bool is_open;
static struct time_travel_event deadline;
static LIST_HEAD(outcomes);
static struct kmem_cache *waiting_cache;
static DECLARE_WAIT_QUEUE_HEAD(readers);

/*
 * A kernel that is linked without an engine has these, which refuse.
 */
bool __weak hoplab_engine_start(const u8 *document, size_t length) { return false; }
s32 __weak hoplab_engine_radio(const u8 address[6]) { return HOPLAB_UNKNOWN_RADIO; }
bool __weak hoplab_engine_agrees(void) { return false; }
u32 __weak hoplab_engine_window(void) { return 0; }
void __weak hoplab_engine_sent(u64 now, const struct hoplab_frame *frame) {}
bool __weak hoplab_engine_follows(void) { return false; }
void __weak hoplab_engine_tuned(u64 now, s32 radio, u32 frequency_mhz) {}
void __weak hoplab_engine_associated(u64 now, s32 radio, const u8 point[6]) {}
void __weak hoplab_engine_contends(u64 now, s32 radio, u32 category,
				   const struct hoplab_contention *contention) {}
void __weak hoplab_engine_advance(u64 now) {}
u64 __weak hoplab_engine_due(void) { return NEVER; }
void __weak hoplab_engine_refused(bool delivery) {}
bool __weak hoplab_engine_has_message(void) { return false; }
bool __weak hoplab_engine_has_failed(void) { return false; }
size_t __weak hoplab_engine_message(u8 *room, size_t size) { return 0; }
bool __weak hoplab_engine_end(u64 now) { return false; }
void __weak hoplab_engine_crash(void) {}
bool __weak hoplab_engine_change(u64 now, const u8 *request, size_t length) { return false; }

static void hand_over(struct tasklet_struct *unused)
{
	struct waiting *first;

	while ((first = list_first_entry_or_null(&outcomes, struct waiting, list))) {
		struct hoplab_outcome *outcome = &first->outcome;
		bool arrival = outcome->skb != NULL;
		unsigned long flags;

		local_irq_save(flags);
		list_del(&first->list);
		local_irq_restore(flags);
		if (!(arrival ? hwsim_medium_deliver(outcome) : hwsim_medium_status(outcome))) {
			local_irq_save(flags);
			hoplab_engine_refused(arrival);
			local_irq_restore(flags);
		}
		kmem_cache_free(waiting_cache, first);
	}
}
static DECLARE_TASKLET(handing_over, hand_over);

/* After every call that may have moved the engine; interrupts are off. */
static void follow_up(void)
{
	u64 due = hoplab_engine_due();

	if (!deadline.pending || deadline.time != due) {
		time_travel_del_event(&deadline);
		if (due != NEVER)
			time_travel_add_event_at(&deadline, due);
	}
	if (!list_empty(&outcomes))
		tasklet_schedule(&handing_over);
	if (hoplab_engine_has_message())
		wake_up(&readers);
}

static void deadline_has_come(struct time_travel_event *unused)
{
	hoplab_engine_advance(time_travel_now());
	follow_up();
}

bool hoplab_medium_is_on(void)
{
	return is_on;
}

s32 hoplab_medium_radio(const u8 *address)
{
	unsigned long flags;
	s32 radio = HOPLAB_UNKNOWN_RADIO;

	local_irq_save(flags);
	if (is_on)
		radio = hoplab_engine_radio(address);
	local_irq_restore(flags);
	return radio;
}

bool hoplab_medium_agrees(void)
{
	unsigned long flags;
	bool agrees;

	local_irq_save(flags);
	agrees = is_on && hoplab_engine_agrees();
	local_irq_restore(flags);
	return agrees;
}

u32 hoplab_medium_window(void)
{
	unsigned long flags;
	u32 window;

	local_irq_save(flags);
	window = is_on ? hoplab_engine_window() : 0;
	local_irq_restore(flags);
	return window;
}

void hoplab_medium_send(const struct hoplab_frame *frame)
{
	unsigned long flags;

	local_irq_save(flags);
	hoplab_engine_sent(time_travel_now(), frame);
	follow_up();
	local_irq_restore(flags);
}

bool hoplab_medium_follows(void)
{
	unsigned long flags;
	bool follows;

	local_irq_save(flags);
	follows = is_on && hoplab_engine_follows();
	local_irq_restore(flags);
	return follows;
}

void hoplab_medium_tuned(s32 radio, u32 frequency_mhz)
{
	unsigned long flags;

	if (!hoplab_medium_follows())
		return;
	local_irq_save(flags);
	hoplab_engine_tuned(time_travel_now(), radio, frequency_mhz);
	follow_up();
	local_irq_restore(flags);
}

void hoplab_medium_associated(s32 radio, const u8 *point)
{
	unsigned long flags;

	if (!hoplab_medium_follows())
		return;
	local_irq_save(flags);
	hoplab_engine_associated(time_travel_now(), radio, point);
	follow_up();
	local_irq_restore(flags);
}

void hoplab_medium_contends(s32 radio, u32 category, const struct hoplab_contention *contention)
{
	unsigned long flags;

	local_irq_save(flags);
	if (is_on) {
		hoplab_engine_contends(time_travel_now(), radio, category, contention);
		follow_up();
	}
	local_irq_restore(flags);
}

static struct hoplab_outcome *collect(const u8 *address)
{
	struct waiting *waiting = kmem_cache_zalloc(waiting_cache, GFP_ATOMIC);

	if (!waiting)
		panic("medium: no memory for what radios are to learn");
	ether_addr_copy(waiting->outcome.address, address);
	list_add_tail(&waiting->list, &outcomes);
	return &waiting->outcome;
}

void hoplab_medium_deliver(const u8 address[6], const u8 *bytes, u32 length, u32 frequency_mhz, u32 rate,
			   s32 signal_dbm)
{
	struct hoplab_outcome *outcome = collect(address);

	outcome->skb = alloc_skb(length, GFP_ATOMIC);
	if (!outcome->skb)
		panic("medium: no memory for a frame of %u octets", length);
	skb_put_data(outcome->skb, bytes, length);
	outcome->frequency_mhz = frequency_mhz;
	outcome->rate = rate;
	outcome->signal_dbm = signal_dbm;
}

void hoplab_medium_status(const u8 address[6], const struct hoplab_status *status)
{
	collect(address)->status = *status;
}

void hoplab_medium_died(const u8 *text, u32 length)
{
	panic("medium: %.*s", (int)length, (const char *)text);
}

static int device_open(struct inode *inode, struct file *file)
{
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (time_travel_mode != TT_MODE_INFCPU)
		return -EOPNOTSUPP;
	if (is_open)
		return -EBUSY;
	is_open = true;
	return 0;
}

static int start(const char __user *from, size_t length)
{
	unsigned long flags;
	u8 *document;
	bool started;

	if (!length || length > LARGEST_DOCUMENT)
		return -EINVAL;
	document = kvmalloc(length, GFP_KERNEL);
	if (!document)
		return -ENOMEM;
	if (copy_from_user(document, from, length)) {
		kvfree(document);
		return -EFAULT;
	}
	local_irq_save(flags);
	started = hoplab_engine_start(document, length);
	if (started) {
		is_on = true;
		hoplab_engine_advance(time_travel_now());
		follow_up();
	}
	local_irq_restore(flags);
	kvfree(document);
	if (!started)
		return -EINVAL;
	hwsim_medium_attach();
	return 0;
}

static int end(void)
{
	unsigned long flags;
	bool complete;

	local_irq_save(flags);
	complete = hoplab_engine_end(time_travel_now());
	is_on = false;
	follow_up();
	local_irq_restore(flags);
	/* What was decided last has been handed over when this returns. */
	tasklet_unlock_wait(&handing_over);
	hwsim_medium_attach();
	return complete ? 0 : -EIO;
}

static void crash(void)
{
	unsigned long flags;

	local_irq_save(flags);
	hoplab_engine_crash();
	local_irq_restore(flags);
}

/* Refused, the engine says why. */
static int change(const char *request, size_t length)
{
	unsigned long flags;
	bool followed;

	local_irq_save(flags);
	followed = hoplab_engine_change(time_travel_now(), request, length);
	follow_up();
	local_irq_restore(flags);
	return followed ? 0 : -EINVAL;
}

static ssize_t device_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	char request[LONGEST_REQUEST + 1] = {};
	int result = 0;

	if (!is_on)
		return start(from, length) ?: length;
	if (length > LONGEST_REQUEST)
		return -EMSGSIZE;
	if (copy_from_user(request, from, length))
		return -EFAULT;
	if (!strcmp(request, END))
		result = end();
	else if (!strcmp(request, CRASH))
		crash();
	else
		result = change(request, length);
	return result ?: length;
}

static ssize_t device_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	static char message[LONGEST_MESSAGE];
	unsigned long flags;
	size_t length;

	local_irq_save(flags);
	length = hoplab_engine_message(message, min(size, sizeof(message)));
	local_irq_restore(flags);
	return copy_to_user(to, message, length) ? -EFAULT : length;
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	unsigned long flags;
	__poll_t news = 0;

	poll_wait(file, &readers, table);
	local_irq_save(flags);
	if (hoplab_engine_has_message())
		news |= EPOLLIN | EPOLLRDNORM;
	if (hoplab_engine_has_failed())
		news |= EPOLLERR;
	local_irq_restore(flags);
	return news;
}

static int device_release(struct inode *inode, struct file *file)
{
	if (is_on)
		end();
	is_open = false;
	return 0;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.read = device_read,
	.write = device_write,
	.poll = device_poll,
	.release = device_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hoplab-medium",
	.fops = &device_operations,
	.mode = 0600,
};

static int __init hoplab_medium_init(void)
{
	waiting_cache = KMEM_CACHE(waiting, 0);
	if (!waiting_cache)
		return -ENOMEM;
	time_travel_set_event_fn(&deadline, deadline_has_come);
	return misc_register(&device) ?: hoplab_host_init() ?: hoplab_resident_init();
}
device_initcall(hoplab_medium_init);
