/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fault costs some 20 us, of which the page itself is the least. The host stops the process,
 * wakes this one, and the other way round. So a write to private memory brings the pages behind it
 * too, as do_fault_around() does for reads of files. The file that includes this one is
 * arch/um/kernel/trap.c.
 */

#define PREFAULTED_PAGES 16

static void write_around(struct vm_area_struct *vma, unsigned long address, unsigned int flags)
{
	unsigned long end = min(vma->vm_end, pmd_addr_end(address, vma->vm_end));
	int left = PREFAULTED_PAGES - 1;

	if (vma->vm_flags & VM_SHARED)
		return;
	flags &= FAULT_FLAG_USER | FAULT_FLAG_WRITE;
	for (address = (address & PAGE_MASK) + PAGE_SIZE;
	     left-- && address < end; address += PAGE_SIZE) {
		pte_t *pte = pte_offset_kernel(pmd_off(vma->vm_mm, address), address);

		if (pte_present(*pte) && pte_write(*pte) && pte_dirty(*pte))
			continue;
		if (!pte_none(*pte) && !pte_present(*pte))
			return;
		if (handle_mm_fault(vma, address, flags, NULL) &
		    (VM_FAULT_ERROR | VM_FAULT_RETRY | VM_FAULT_COMPLETED))
			return;
	}
}
