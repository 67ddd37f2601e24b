/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that starts from an image, which is the memory of one that stood by once (copies.c). The host has written
 * it to a file (hoplab.host.machine.dumped). The file that includes this one is arch/um/os-Linux/mem.c.
 *
 * The kernel's program finds the file as IMAGE_DESCRIPTOR. It has no random addresses, and the same arguments and
 * environment as the one before. So the stack, the C library's memory and the host's own pages are where they were.
 * The image's memory takes their place, and the process goes on where the other one stood, as a copy does.
 *
 * The file begins with the guest's physical memory. Its last page says what else it holds.
 */

#include <alloca.h>
#include <asm/prctl.h>
#include <elf.h>
#include <sys/auxv.h>
#include <longjmp.h>

#define IMAGE_DESCRIPTOR 21
#define IMAGE_NAME "hoplab image 1"
#define MOST_PARTS 48
#define MOST_FILES 32
/* More than all of the stack that an image has. */
#define STACK_ROOM (512 * 1024)
/* struct sigaction as the host's kernel has it */
#define ACTION_WORDS 4
#define SIGNALS 64

/* The last page of an image, with all numbers as the host's processor has them. */
struct image_end {
	char name[16];
	unsigned long vdso, heap_end;
	unsigned long memory_fd, part_count, file_count;
	/* Memory, and where it is in the file. What not every program has at its start is new. */
	struct image_part {
		unsigned long at, length, offset, is_new;
	} parts[MOST_PARTS];
	/* Descriptors that are duplicates of one of the first four. */
	struct image_file {
		unsigned int fd, of;
	} files[MOST_FILES];
};

/* What is not in a process's memory. */
static struct {
	jmp_buf registers;
	unsigned long actions[SIGNALS + 1][ACTION_WORDS], blocked, thread;
	stack_t signal_stack;
} stood;

/*
 * Wait while the host writes an image of this process. Called on the stack that the host gave it. Returns 1 where the
 * process has started from the image; 0 where it goes on itself.
 */
int os_stand_for_image(int line, const char *answer, int length)
{
	char word;
	int n;

	for (n = 1; n <= SIGNALS; n++)
		syscall(__NR_rt_sigaction, n, NULL, stood.actions[n], sizeof(long));
	syscall(__NR_rt_sigprocmask, SIG_BLOCK, NULL, &stood.blocked, sizeof(long));
	sigaltstack(NULL, &stood.signal_stack);
	syscall(__NR_arch_prctl, ARCH_GET_FS, &stood.thread);
	if (setjmp(stood.registers))
		return 1;
	n = write(line, answer, length);
	do {
		n = read(line, &word, sizeof(word));
	} while (n < 0 && errno == EINTR);
	return 0;
}

/*
 * The host finds why among the kernel's messages, and starts a guest that boots. The C library's memory may not be its
 * own any more.
 */
static void __noreturn cannot_start(const char *why)
{
	static const char what[] = "image: ";

	_exit(write(CONSOLE, what, sizeof(what) - 1) < 0 || write(CONSOLE, why, strlen(why)) < 0 ||
	      write(CONSOLE, "\n", 1) < 0 ? 2 : 1);
}

static void take_files(const struct image_end *image)
{
	unsigned long i;

	for (i = 0; i < image->file_count; i++)
		if (dup2(image->files[i].of, image->files[i].fd) < 0)
			cannot_start("a descriptor");
	if (dup3(IMAGE_DESCRIPTOR, image->memory_fd, O_CLOEXEC) < 0)
		cannot_start("its memory's descriptor");
	close(IMAGE_DESCRIPTOR);
}

/*
 * Called below all that the image has of the stack. The C library's memory becomes that of another process here.
 *
 * What is new may replace what this process has there. The C library maps a little where the program's last page has
 * no room for it.
 */
static void __noreturn noinline take_memory(const struct image_end *image)
{
	unsigned long i;
	int n;

	for (i = 0; i < image->part_count; i++) {
		const struct image_part *part = &image->parts[i];
		unsigned long done = 0;

		if (part->at <= (unsigned long)&done && part->at + part->length > (unsigned long)&done)
			cannot_start("its stack is too large");
		if (part->is_new && mmap((void *)part->at, part->length, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			cannot_start("a mapping");
		while (done < part->length) {
			long size = syscall(__NR_pread64, image->memory_fd, part->at + done, part->length - done,
					    part->offset + done);

			if (size <= 0)
				cannot_start("it is too short");
			done += size;
		}
	}
	syscall(__NR_arch_prctl, ARCH_SET_FS, stood.thread);
	for (n = 1; n <= SIGNALS; n++)
		syscall(__NR_rt_sigaction, n, stood.actions[n], NULL, sizeof(long));
	sigaltstack(&stood.signal_stack, NULL);
	syscall(__NR_rt_sigprocmask, SIG_SETMASK, &stood.blocked, NULL, sizeof(long));
	longjmp(stood.registers, 1);
}

/* The first that the program does. Returns where there is no image. */
void os_start_from_image(void)
{
	struct image_end image;
	struct stat file;
	volatile char *room;

	if (fstat(IMAGE_DESCRIPTOR, &file) < 0 || !S_ISREG(file.st_mode))
		return;
	if (pread(IMAGE_DESCRIPTOR, &image, sizeof(image), file.st_size - UM_KERN_PAGE_SIZE) != sizeof(image) ||
	    memcmp(image.name, IMAGE_NAME, sizeof(IMAGE_NAME)) != 0 || image.part_count > MOST_PARTS ||
	    image.file_count > MOST_FILES)
		cannot_start("it is no image");
	if (image.vdso != getauxval(AT_SYSINFO_EHDR))
		cannot_start("addresses are others than when it was made");
	if (brk((void *)image.heap_end) < 0)
		cannot_start("no memory");
	take_files(&image);
	/* Touched, so that the stack is as large as it was. */
	room = alloca(STACK_ROOM);
	for (long at = STACK_ROOM; at > 0; at -= UM_KERN_PAGE_SIZE)
		room[at - 1] = 0;
	take_memory(&image);
}
