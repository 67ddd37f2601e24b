/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of a guest that stands by (copies.c): what the kernel's files and its side on the host share. */
#ifndef HOPLAB_COPIES_H
#define HOPLAB_COPIES_H

struct mm_struct;
struct page;

/*
 * In a copy: the process of the host is not made yet. No process ever has this number, so a signal for it reaches
 * nobody, and nobody waits for it.
 */
#define NO_PROCESS 0x7fffffff

/* copied_contexts.h: address spaces that have a process of the host. */
void for_each_context(void (*call)(struct mm_struct *mm));

/* copied_memory.h. */
int copy_physmem(const unsigned long *left, unsigned long *kept, unsigned long pages);
void find_page_array(unsigned long *from, unsigned long *to);
/* Whether the original still holds a page of this copy, which then may only be read. */
int page_is_kept(unsigned long phys);
/* The original's memory, which a copy's processes map too; -1 in a guest that is no copy. */
int kept_memory(void);
/* Of this guest's own memory. */
int physmem_descriptor(void);
/* From now on the page is the copy's own, with its content or for a new one. */
void release_kept_page(unsigned long phys, int with_content);
int release_kept_address(unsigned long address);
void release_freed_page(struct page *page, unsigned int order);

/* copied_irqs.h. */
int renew_epoll(void);

/* copies.c. */
void renew_all_mappings(void);
void current_mm_renew(void);

/* copies_on_host.h: each returns 0 or more, or minus an error number. */
enum copy_descriptor { COPY_LINE, COPY_FOLDER, COPY_OUTPUT, COPY_ERRORS, COPY_RULES, COPY_DESCRIPTORS };
int os_take_request(int line, char *text, unsigned long size, int *descriptors);
int os_copy_process(void);
int os_map_private(void *at, int fd, unsigned long long offset, unsigned long size);
void *os_own_memory(unsigned long size);
int os_copy_memory(int fd, const unsigned long *left, unsigned long pages);
int os_write_memory(int fd, const void *from, unsigned long long offset, unsigned long size);
int os_copy_page(int from, int to, unsigned long long offset);
int os_copy_descriptors(int line, const int *descriptors);
void os_close_descriptors(int *descriptors);
int os_bind_by_rules(int rules);
void os_end(void);

/* image_on_host.h. */
int os_stand_for_image(int line, const char *answer, int length);
void os_start_from_image(void);

/* process.c of later kernels: the program of each process of the guest, a file without a name. */
int renew_stub_program(void);

#endif
