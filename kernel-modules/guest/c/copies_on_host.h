/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's side of copies of a guest (copies.c); arch/um/os-Linux/mem.c includes this file. */

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <as-layout.h>
#include <hoplab/copies.h>

#define LANDLOCK_RESTRICT_SELF 446

void os_close_descriptors(int *descriptors)
{
	int i;

	for (i = 0; i < COPY_DESCRIPTORS; i++) {
		if (descriptors[i] >= 0)
			close(descriptors[i]);
		descriptors[i] = -1;
	}
}

/*
 * Wait for a message and for the descriptors that come with it; those that did not come are -1. Returns its length, 0
 * where the other end has been closed.
 */
int os_take_request(int line, char *text, unsigned long size, int *descriptors)
{
	union {
		struct cmsghdr header;
		/* Room for more than there may be, so that these are closed. */
		char room[CMSG_SPACE(2 * COPY_DESCRIPTORS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = text, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *part;
	int i, count, given = 0, came[2 * COPY_DESCRIPTORS], length;

	for (i = 0; i < COPY_DESCRIPTORS; i++)
		descriptors[i] = -1;
	do {
		length = recvmsg(line, &message, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	if (length < 0)
		return -errno;
	for (part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(came + given, CMSG_DATA(part), count * sizeof(int));
		given += count;
	}
	for (i = 0; i < given; i++) {
		if (i < COPY_DESCRIPTORS)
			descriptors[i] = came[i];
		else
			close(came[i]);
	}
	if (given > COPY_DESCRIPTORS || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		os_close_descriptors(descriptors);
		return -EMSGSIZE;
	}
	return length;
}

/*
 * Called on the stack that the host gave this process, which is its own. All other stacks are in the guest's memory,
 * which both processes have at first.
 *
 * The copy is a child of the process that started the original, which can so wait for it. It is the
 * leader of a session, by which all its processes are ended.
 */
int os_copy_process(void)
{
	int parent = getppid(), pid = syscall(__NR_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		/* The original's wish to end with its parent is not inherited. */
		os_set_pdeathsig();
		if (getppid() != parent)
			_exit(1);
		setsid();
	}
	return pid < 0 ? -errno : pid;
}

void os_end(void)
{
	_exit(1);
}

/* What is written there does not reach the file. */
int os_map_private(void *at, int fd, unsigned long long offset, unsigned long size)
{
	void *made = mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, offset);

	return made == MAP_FAILED ? -errno : 0;
}

/* Memory that is no part of the guest's; NULL where there is none. */
void *os_own_memory(unsigned long size)
{
	void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return made == MAP_FAILED ? NULL : made;
}

#define BITS (8 * sizeof(unsigned long))

static int is_left(const unsigned long *left, unsigned long pages, unsigned long page)
{
	return page < pages && (left[page / BITS] >> page % BITS & 1);
}

/* As copy_file_range(2), also where the files are in two file systems. */
static ssize_t copy_part(int from, loff_t *at, int to, loff_t *put, size_t size)
{
	ssize_t done = copy_file_range(from, at, to, put, size, 0);

	if (done >= 0 || errno != EXDEV)
		return done;
	if (lseek(to, *put, SEEK_SET) < 0)
		return -1;
	done = sendfile(to, from, at, size);
	if (done > 0)
		*put += done;
	return done;
}

static int copy_pages(int from, int to, const unsigned long *left, unsigned long pages)
{
	off_t at = 0, end;

	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -errno;
		while (at < end) {
			loff_t begin = at, put = at;

			while (at < end && !is_left(left, pages, at / UM_KERN_PAGE_SIZE))
				at += UM_KERN_PAGE_SIZE;
			while (begin < at) {
				ssize_t done = copy_part(from, &begin, to, &put, at - begin);

				if (done <= 0)
					return done < 0 ? -errno : -EIO;
			}
			while (at < end && is_left(left, pages, at / UM_KERN_PAGE_SIZE))
				at += UM_KERN_PAGE_SIZE;
		}
	}
	return errno == ENXIO ? 0 : -errno;
}

/*
 * A file as this one, under its number, but for some pages. It is in the same folder, so in the
 * same file system, where pages are copied without a mapping.
 */
int os_copy_memory(int fd, const unsigned long *left, unsigned long pages)
{
	struct stat file;
	int made, err;

	if (fstat(fd, &file) < 0)
		return -errno;
	made = open(tempdir, O_CLOEXEC | O_RDWR | O_EXCL | O_TMPFILE, 0700);
	if (made < 0)
		return -errno;
	err = ftruncate(made, file.st_size) < 0 ? -errno : copy_pages(fd, made, left, pages);
	if (!err && dup3(made, fd, O_CLOEXEC) < 0)
		err = -errno;
	close(made);
	return err;
}

int os_copy_page(int from, int to, unsigned long long offset)
{
	loff_t at = offset, put = offset;

	return copy_part(from, &at, to, &put, UM_KERN_PAGE_SIZE) == UM_KERN_PAGE_SIZE ? 0 : -errno;
}

int os_write_memory(int fd, const void *from, unsigned long long offset, unsigned long size)
{
	while (size) {
		ssize_t done = pwrite(fd, from, size, offset);

		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		from += done;
		offset += done;
		size -= done;
	}
	return 0;
}

/* Let a descriptor be another file, with the flags that it had. */
static int replace(int fd, int by, int flags)
{
	if (dup3(by, fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0) < 0 ||
	    fcntl(fd, F_SETFL, flags) < 0)
		return -errno;
	return 0;
}

static int replace_by_name(int fd, const char *name, int flags)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	int made = open(name, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_CLOEXEC), err;

	if (made < 0)
		return errno == ENOENT ? 0 : -errno;
	if (at > 0)
		lseek(made, at, SEEK_SET);
	err = replace(fd, made, flags);
	close(made);
	return err;
}

#define CONSOLE 3

/* Output, errors and messages: a descriptor's number among these, or 0. The consoles have duplicates. */
static int stands_for(const struct stat *file, const struct stat *originals)
{
	int n;

	for (n = 1; n <= CONSOLE; n++)
		if (file->st_dev == originals[n].st_dev && file->st_ino == originals[n].st_ino)
			return n;
	return 0;
}

#define RESULTS "out"

/* A folder of the original, and its name below the copy's. */
struct moved_folder {
	char path[PATH_MAX];
	int length;
	const char *name;
};

static int find_folder(struct moved_folder *folder, const char *at, const char *name)
{
	static char link[32];
	int fd = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	sprintf(link, "/proc/self/fd/%d", fd);
	folder->length = readlink(link, folder->path, sizeof(folder->path) - 1);
	folder->name = name;
	close(fd);
	if (folder->length < 0)
		return -errno;
	folder->path[folder->length] = '\0';
	return 0;
}

/* The name that a file has below the copy's folder; NULL if it is not below this one. */
static const char *moved_name(const struct moved_folder *folder, const char *path)
{
	static char name[PATH_MAX + sizeof(RESULTS)];

	if (strncmp(path, folder->path, folder->length) != 0 || path[folder->length] != '/')
		return NULL;
	snprintf(name, sizeof(name), "%s%s", folder->name, path + folder->length + 1);
	return name;
}

/*
 * Go to the copy's own folder, with its line, output and errors, and the kernel's messages there.
 * What is open below the original's folder, or below its results, becomes the file of the same name below the copy's.
 * That are files of hostfs and of the medium's engine. A file that was removed stays the original's.
 */
int os_copy_descriptors(int line, const int *descriptors)
{
	static char link[32], path[PATH_MAX];
	/* An original's results are in its folder; those of a copy are where its link leads. */
	static struct moved_folder own, results;
	int by[CONSOLE + 1] = { -1, descriptors[COPY_OUTPUT], descriptors[COPY_ERRORS], -1 };
	struct stat originals[CONSOLE + 1], file;
	const char *name;
	int fd, n, flags, size, left, err;

	/* How many there are, since Linux 6.2: a limit of a million would take a while. */
	if (stat("/proc/self/fd", &file) < 0)
		return -errno;
	left = file.st_size;
	if (left <= 0)
		return -ENOSYS;
	err = find_folder(&own, ".", "");
	if (!err)
		err = find_folder(&results, RESULTS, RESULTS "/");
	if (err)
		return err;
	if (fchdir(descriptors[COPY_FOLDER]) < 0)
		return -errno;
	by[CONSOLE] = open("console.log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (by[CONSOLE] < 0)
		return -errno;
	for (n = 1; n <= CONSOLE; n++)
		if (fstat(n, &originals[n]) < 0)
			return -errno;
	for (fd = 0; left > 0 && !err; fd++) {
		flags = fcntl(fd, F_GETFL);
		if (flags < 0 || fd == by[CONSOLE])
			continue;
		left--;
		for (n = 0; n < COPY_DESCRIPTORS && descriptors[n] != fd; n++)
			;
		if (n < COPY_DESCRIPTORS || fd == 0 || fstat(fd, &file) < 0)
			continue;
		n = stands_for(&file, originals);
		if (n) {
			err = replace(fd, by[n], flags);
			continue;
		}
		if (!S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode))
			continue;
		sprintf(link, "/proc/self/fd/%d", fd);
		size = readlink(link, path, sizeof(path) - 1);
		if (size < 0)
			continue;
		path[size] = '\0';
		name = moved_name(&own, path) ?: moved_name(&results, path);
		if (name)
			err = replace_by_name(fd, name, flags);
	}
	close(by[CONSOLE]);
	if (!err && dup2(descriptors[COPY_LINE], line) < 0)
		err = -errno;
	return err;
}

/* Landlock: one more layer, of rules that the host has made for this copy. Its processes inherit it. */
int os_bind_by_rules(int rules)
{
	return rules < 0 || !syscall(LANDLOCK_RESTRICT_SELF, rules, 0) ? 0 : -errno;
}
