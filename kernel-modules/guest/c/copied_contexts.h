/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All address spaces that have a process of the host. A kernel's thread may still borrow one from a
 * process that has ended, and that one is among them. A copy of the guest forgets their processes
 * (copies.c). Newer kernels have a list of address spaces. In others this file goes through the
 * pages of the stubs. The file that includes this one is arch/um/kernel/skas/mmu.c.
 */

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)

static LIST_HEAD(contexts);

static void note_context(struct mm_struct *mm)
{
	struct page *page = virt_to_page((void *)mm->context.id.stack);

	set_page_private(page, (unsigned long)mm);
	list_add_tail(&page->lru, &contexts);
}

static void forget_context(struct mm_struct *mm)
{
	struct page *page = virt_to_page((void *)mm->context.id.stack);

	list_del(&page->lru);
	set_page_private(page, 0);
}

void for_each_context(void (*call)(struct mm_struct *mm))
{
	struct page *page;

	list_for_each_entry(page, &contexts, lru)
		call((struct mm_struct *)page_private(page));
}

#else

void for_each_context(void (*call)(struct mm_struct *mm))
{
	struct mm_struct *mm;

	list_for_each_entry(mm, &mm_list, context.list)
		call(mm);
}

#endif
