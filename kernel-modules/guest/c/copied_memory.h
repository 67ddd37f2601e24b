/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The physical memory of a copy of the guest (copies.c). Most of what is in use gets into a file of
 * its own. Pages that nobody writes to stay in the original's: what the root's files hold, half of
 * a small guest's memory. They are mapped without the right to write. They become the copy's own as
 * soon as somebody writes, or when they are freed. For calls of the host that write to a page would
 * fail. The file that includes this one is arch/um/kernel/physmem.c.
 */

#include <hoplab/copies.h>

/* What has been mapped of it, in this order, but for vmalloc()'s pages. */
static struct mapped_memory {
	unsigned long virt, phys, length;
	int r, w, x;
} mapped_memory[4];
static int mapped_memories;

static void note_mapped(unsigned long virt, unsigned long phys, unsigned long length, int r, int w, int x)
{
	if (mapped_memories == ARRAY_SIZE(mapped_memory))
		panic("note_mapped: no room");
	mapped_memory[mapped_memories++] = (struct mapped_memory) { virt, phys, length, r, w, x };
}

/* Bits by page frame; NULL in a guest that is no copy. */
static unsigned long *kept_pages;
static unsigned long kept_count;
static int kept_fd = -1;

/*
 * The array of struct page is only the kernel's, and most of it stays as it is: the host copies what is written. In
 * page frames.
 */
void find_page_array(unsigned long *from, unsigned long *to)
{
	unsigned long begin = (unsigned long)pfn_to_page(0);

	*from = __pa(PAGE_ALIGN(begin)) >> PAGE_SHIFT;
	*to = __pa(PAGE_ALIGN_DOWN(begin + max_mapnr * sizeof(struct page))) >> PAGE_SHIFT;
}

int page_is_kept(unsigned long phys)
{
	unsigned long pfn = phys >> PAGE_SHIFT;

	return kept_pages && pfn < kept_count && test_bit(pfn, kept_pages);
}

int kept_memory(void)
{
	return kept_fd;
}

int physmem_descriptor(void)
{
	return physmem_fd;
}

static int physmem_fd_of(unsigned long phys)
{
	return page_is_kept(phys) ? kept_fd : physmem_fd;
}

void release_kept_page(unsigned long phys, int with_content)
{
	unsigned long pfn = phys >> PAGE_SHIFT;
	int err = 0;

	__clear_bit(pfn, kept_pages);
	if (with_content)
		err = os_copy_page(kept_fd, physmem_fd, phys);
	if (!err)
		err = os_map_memory(__va(phys), physmem_fd, phys, PAGE_SIZE, 1, 1, 1);
	if (err)
		panic("release_kept_page: %d", err);
	if (with_content && folio_mapped(page_folio(pfn_to_page(pfn))))
		renew_all_mappings();
}

/* The kernel writes there. Returns whether it may now, and could not before. */
int release_kept_address(unsigned long address)
{
	unsigned long phys = __pa(address & PAGE_MASK);

	if (address < uml_physmem || address >= high_physmem || !page_is_kept(phys))
		return 0;
	release_kept_page(phys, 1);
	return 1;
}

void release_freed_page(struct page *page, unsigned int order)
{
	unsigned long pfn = page_to_pfn(page), end = pfn + (1UL << order);

	if (likely(!kept_pages))
		return;
	for (; pfn < end; pfn++)
		if (page_is_kept(pfn << PAGE_SHIFT))
			release_kept_page(pfn << PAGE_SHIFT, 0);
}

/*
 * Give this process, which is a copy of another one, physical memory of its own. Pages are left by bits in `left`. If
 * it is the first copy, `kept` has those to map from the original's; NULL where it keeps none. A copy of a copy keeps
 * in the original's what that one kept there.
 */
int copy_physmem(const unsigned long *left, unsigned long *kept, unsigned long pages)
{
	bool was_copy = kept_pages, is_first = kept && !was_copy;
	unsigned long from, to, array, array_size;
	int i, err;

	if (is_first) {
		kept_fd = os_dup_file(physmem_fd);
		if (kept_fd < 0)
			return kept_fd;
		kept_pages = kept;
		kept_count = pages;
	}
	find_page_array(&from, &to);
	array = from << PAGE_SHIFT;
	array_size = (to - from) << PAGE_SHIFT;
	err = os_copy_memory(physmem_fd, left, pages);
	/* What a copy writes there need not be in its file. */
	if (was_copy && !err)
		err = os_write_memory(physmem_fd, __va(array), array, array_size);
	for (i = 0; i < mapped_memories && !err; i++) {
		struct mapped_memory *m = &mapped_memory[i];

		err = os_map_memory((void *)m->virt, physmem_fd, m->phys, m->length, m->r, m->w, m->x);
	}
	if (!kept_pages)
		return err;
	for_each_set_bitrange(from, to, kept_pages, kept_count) {
		if (err)
			return err;
		err = os_map_memory(__va(from << PAGE_SHIFT), kept_fd, from << PAGE_SHIFT,
				    (to - from) << PAGE_SHIFT, 1, 0, 1);
	}
	if (is_first && !err)
		err = os_map_private(__va(array), kept_fd, array, array_size);
	return err;
}
