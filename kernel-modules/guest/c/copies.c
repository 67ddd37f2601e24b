// SPDX-License-Identifier: GPL-2.0-only
/*
 * A running guest as the original of copies, which start in some 50 ms and go on for themselves.
 *
 * A process stands by (HOPLAB_STAND_BY on /dev/hoplab-host). The kernel waits in the host's
 * recvmsg(2) for requests on the line, one a message, and virtual time stands still. The request
 * "go" lets this guest itself go on. By each request "copy" or "whole" the kernel's process clones itself on
 * the host. With it come descriptors, in the order of copy_descriptor: the copy's own line, its
 * folder, its output and errors. Rules of Landlock follow if the host wants the copy confined more
 * closely. The answer is "copy PID" or "refused WHY".
 *
 * The clone gets physical memory of its own. What follows from the memory is made anew: the mappings of vmalloc(), and
 * the guest's processes, each when it runs next. Then it says "copied" on its own line, or "failed WHERE NUMBER", and
 * ends. So the call returns in each copy, in the same state as after "go": a run does not depend on whether it was
 * copied.
 *
 * By "image" the guest waits while the host writes its memory to a file. A guest that starts from that file stands by
 * as this one did, and says "copied" first. It keeps pages in the file as a copy does in its original's memory.
 *
 * A copy shares pages with its original, which therefore never goes on once it has been copied. A whole copy shares
 * none with the guest that it is a copy of, which may go on, and be a copy itself. It keeps what that one keeps in an
 * original's memory. The host must wait for "copied" before it says "go".
 */

#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <asm/mmu_context.h>
#include <asm/tlbflush.h>
#include <as-layout.h>
#include <kern_util.h>
#include <mem.h>
#include <os.h>
#include <registers.h>
#include <skas.h>
#include <hoplab/copies.h>
#include <hoplab/medium.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
/* As later kernels call it. */
#define pte_mkneedsync pte_mknewpage
#define STUB_BEGIN TASK_SIZE
#define using_seccomp 0
#define renew_stub_program() 0
#else
#define STUB_BEGIN STUB_START
/* The process that runs is the one of its address space. */
#define __switch_mm(id)
#endif

#define LONGEST 64

/* All these are in this process's own memory, not in the guest's, which original and copy share at first. */
static int own_line, closed;
static int came[COPY_DESCRIPTORS];
/*
 * Whether it keeps pages in an original's memory; whether a copy keeps pages in its own. Whether it is a new copy;
 * whether it has just started from an image.
 */
static bool is_copy, has_shared, has_become_copy, is_from_image;
/* Bits by page frame: the root's files, pages that a copy keeps in the original's memory, all that are not copied */
static unsigned long *file_pages, *kept_pages, *left_pages;

static __printf(2, 3) void say(int line, const char *format, ...)
{
	char text[LONGEST];
	va_list values;
	int length;

	va_start(values, format);
	length = vscnprintf(text, sizeof(text), format, values);
	va_end(values);
	/* A peer that has closed the other end does not want to know. */
	os_write_file(line, text, length);
}

static __printf(2, 3) void refuse(int line, const char *format, ...)
{
	char text[LONGEST];
	va_list values;

	va_start(values, format);
	vscnprintf(text, sizeof(text), format, values);
	va_end(values);
	say(line, "refused: %s", text);
	os_close_descriptors(came);
}

/* The host learns why, and starts a guest of its own. */
static void require(int err, const char *step)
{
	if (err >= 0)
		return;
	say(came[COPY_LINE] >= 0 ? came[COPY_LINE] : own_line, "failed: %s %d", step, err);
	os_end();
}

/* The pages of vmalloc(), as the page tables say: the mappings are still those of the original. */
static int renew_pages(pmd_t *pmd, unsigned long from)
{
	pte_t *pte = pte_offset_kernel(pmd, from);
	unsigned long at, start = from, phys = 0;
	int i, err;

	err = os_unmap_memory((void *)from, PMD_SIZE);
	for (i = 0, at = from; i <= PTRS_PER_PTE && !err; i++, at += PAGE_SIZE) {
		bool here = i < PTRS_PER_PTE && pte_present(pte[i]);
		unsigned long own = here ? pte_val(pte[i]) & PAGE_MASK : 0;

		/* What is contiguous on both sides is one mapping. */
		if (phys && own == phys + (at - start))
			continue;
		if (phys) {
			unsigned long long offset;
			int fd = phys_mapping(phys, &offset);

			err = os_map_memory((void *)start, fd, offset, at - start, 1, 1, 1);
		}
		start = at;
		phys = own;
	}
	return err;
}

/*
 * The entry of an address, or NULL where no page table has one; then the address becomes the last one before that may
 * change. Levels that a kernel has not are as large as the one above.
 */
static pmd_t *find_pmd(struct mm_struct *mm, unsigned long *at)
{
	p4d_t *p4d = p4d_offset(pgd_offset(mm, *at), *at);
	pud_t *pud;

	if (!p4d_present(*p4d)) {
		*at |= ~P4D_MASK;
		return NULL;
	}
	pud = pud_offset(p4d, *at);
	if (!pud_present(*pud)) {
		*at |= ~PUD_MASK;
		return NULL;
	}
	return pmd_offset(pud, *at);
}

static int renew_vmalloc(void)
{
	unsigned long at, end = VMALLOC_END & PMD_MASK;
	int err = 0;

	for (at = VMALLOC_START; at < end && !err; at = pmd_addr_end(at, end)) {
		pmd_t *pmd = find_pmd(&init_mm, &at);

		if (pmd && pmd_present(*pmd))
			err = renew_pages(pmd, at & PMD_MASK);
	}
	return err;
}

/* The host's processes of the original stay its own, and so does what their registers hold. */
static void fetch_registers(void)
{
	struct task_struct *process, *task;

	rcu_read_lock();
	for_each_process_thread(process, task)
		if (task->mm)
			fetch_fp_registers(task->mm->context.id.pid, &task->thread.regs.regs);
	rcu_read_unlock();
}

static bool have_bitmap(unsigned long **bits)
{
	if (!*bits)
		*bits = os_own_memory(BITS_TO_LONGS(max_mapnr) * sizeof(long));
	return *bits;
}

/* On a stack of the kernel's: what this calls asks for the current task where locks are watched. */
static void find_file_pages(void)
{
	/* That of process 1: init_task's own is an empty one from 7.0 on. */
	struct super_block *sb = init_pid_ns.child_reaper->fs->root.mnt->mnt_sb;
	struct inode *inode;
	struct folio *folio;

	if (is_copy || !have_bitmap(&file_pages))
		return;
	bitmap_zero(file_pages, max_mapnr);
	list_for_each_entry(inode, &sb->s_inodes, i_sb_list) {
		XA_STATE(at, &inode->i_mapping->i_pages, 0);

		if (!S_ISREG(inode->i_mode) || mapping_writably_mapped(inode->i_mapping))
			continue;
		rcu_read_lock();
		xas_for_each(&at, folio, ULONG_MAX)
			if (!xa_is_value(folio))
				bitmap_set(file_pages, folio_pfn(folio), folio_nr_pages(folio));
		rcu_read_unlock();
	}
}

static void find_free_pages(unsigned long *pages)
{
	struct zone *zone;
	int order, kind;

	for_each_populated_zone(zone)
		for (order = 0; order < NR_PAGE_ORDERS; order++)
			for (kind = 0; kind < MIGRATE_TYPES; kind++) {
				struct page *page;

				list_for_each_entry(page, &zone->free_area[order].free_list[kind], buddy_list)
					bitmap_set(pages, page_to_pfn(page), 1 << order);
			}
}

/*
 * Which pages are not copied: free ones, and those that a copy keeps in the original's memory, as a copy's own copy
 * does. That are the files' of the root, unless the copy is whole.
 */
static bool find_pages(bool is_whole)
{
	unsigned long from, to;

	if (!have_bitmap(&kept_pages) || !have_bitmap(&left_pages) || !(is_copy || file_pages))
		return false;
	if (!is_copy && is_whole)
		bitmap_zero(kept_pages, max_mapnr);
	else if (!is_copy)
		bitmap_copy(kept_pages, file_pages, max_mapnr);
	bitmap_copy(left_pages, kept_pages, max_mapnr);
	find_free_pages(left_pages);
	find_page_array(&from, &to);
	if (is_copy || !is_whole)
		bitmap_set(left_pages, from, to - from);
	return true;
}

/* Returns true in a copy; false where the request has been dealt with. */
static bool make_copy(bool is_whole)
{
	int pid;

	if (!find_pages(is_whole)) {
		refuse(own_line, "no memory");
		return false;
	}
	pid = os_copy_process();
	if (pid == 0)
		return true;
	if (pid < 0) {
		refuse(own_line, "no process %d", pid);
		return false;
	}
	has_shared |= !is_whole;
	say(own_line, "copy %d", pid);
	os_close_descriptors(came);
	return false;
}

/* Returns true in a guest that has started from the image, false in the one that it is of. */
static bool stand_for_image(void)
{
	char answer[LONGEST];
	int length;

	if (is_copy || has_shared || !find_pages(false)) {
		refuse(own_line, "no image");
		return false;
	}
	length = scnprintf(answer, sizeof(answer), "image %d", physmem_descriptor());
	is_from_image = os_stand_for_image(own_line, answer, length);
	return is_from_image;
}

/* On this process's own stack, which has no current task; see os_copy_process(). */
static void wait_for_requests(void *unused)
{
	char text[LONGEST];
	bool is_whole;
	int length;

	has_become_copy = is_from_image = is_whole = false;
	for (;;) {
		length = os_take_request(own_line, text, sizeof(text) - 1, came);
		if (length == -EMSGSIZE) {
			refuse(own_line, "too much of it");
			continue;
		}
		if (length <= 0) {
			/* Nobody is there any more. The guest's processes end with this one. */
			if (has_shared)
				os_end();
			closed = length ?: -EPIPE;
			return;
		}
		text[length] = '\0';
		is_whole = strcmp(text, "whole") == 0;
		if (strcmp(text, "image") == 0 && came[0] < 0) {
			if (stand_for_image())
				break;
		} else if (strcmp(text, "go") == 0) {
			/* What copies have in this memory must stay as it is. */
			if (!has_shared && came[0] < 0)
				return;
			refuse(own_line, "go after copies, or with descriptors");
		} else if (!is_whole && strcmp(text, "copy") != 0) {
			refuse(own_line, "neither go, copy, whole nor image");
		} else if (!is_whole && is_copy) {
			/* What that one kept would be in the memory of two. */
			refuse(own_line, "a copy makes whole copies only");
		} else if (came[COPY_ERRORS] < 0) {
			refuse(own_line, "too few descriptors");
		} else if (make_copy(is_whole)) {
			break;
		}
	}
	has_become_copy = true;
	has_shared = false;
	require(copy_physmem(left_pages, is_whole ? NULL : kept_pages, max_mapnr), "memory");
	is_copy |= !is_whole;
	require(renew_vmalloc(), "mappings");
}

static void forget_process(struct mm_struct *mm)
{
	mm->context.id.pid = NO_PROCESS;
}

/* A process has none of its pages mapped. */
static void mark_new(struct mm_struct *mm)
{
	unsigned long at;

	for (at = 0; at < TASK_SIZE; at = pmd_addr_end(at, TASK_SIZE)) {
		pmd_t *pmd = find_pmd(mm, &at);
		pte_t *pte;
		int i;

		if (!pmd || !pmd_present(*pmd))
			continue;
		pte = pte_offset_kernel(pmd, at & PMD_MASK);
		for (i = 0; i < PTRS_PER_PTE; i++)
			if (pte_present(pte[i]))
				pte[i] = pte_mkneedsync(pte[i]);
	}
	mm->context.sync_tlb_range_from = 0;
	mm->context.sync_tlb_range_to = TASK_SIZE;
}

void renew_all_mappings(void)
{
	for_each_context(mark_new);
}

static int start_process(struct mm_id *id)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	id->pid = start_userspace(id->stack);
	return id->pid;
#else
	return start_userspace(id);
#endif
}

/* Before a process of the guest runs: in a copy it may have no process of the host yet. */
void current_mm_renew(void)
{
	struct mm_id *id;
	int err;

	if (!current->mm || likely(current->mm->context.id.pid != NO_PROCESS))
		return;
	id = &current->mm->context.id;
	id->syscall_data_len = 0;
	block_signals_trace();
	err = start_process(id);
	unblock_signals_trace();
	if (err < 0)
		panic("a copy's process could not be started: %d", err);
	unmap(id, 0, STUB_BEGIN);
	mark_new(current->mm);
	__switch_mm(id);
}

/* What belongs to a process of the host. */
static void renew_process(void)
{
	require(os_timer_create(), "timer");
	require(renew_epoll(), "epoll");
	for_each_context(forget_process);
	__switch_mm(&current->mm->context.id);
	/* One that nobody waits for any more is nobody's to end. */
	require(os_write_file(own_line, "copied", 6), "line");
}

/* Returns 0 where the guest, or a copy of it, goes on; else what is wrong with the line. */
long hoplab_stand_by(int line)
{
	/* Nobody could fetch what a process's registers hold. */
	if (using_seccomp)
		return -ENOTTY;
	own_line = line;
	closed = 0;
	do {
		fetch_registers();
		find_file_pages();
		initial_thread_cb(wait_for_requests, NULL);
		if (!has_become_copy)
			return closed;
		if (is_from_image) {
			require(renew_stub_program(), "stub");
		} else {
			require(os_copy_descriptors(line, came), "descriptors");
			require(os_bind_by_rules(came[COPY_RULES]), "rules");
			os_close_descriptors(came);
		}
		renew_process();
	} while (is_from_image);
	return 0;
}
