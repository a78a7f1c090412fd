// Writes events with the kernel's interface alone: no library of this project knows them.
//
//	cprogram PREFIX READY GO [END [MORE]]
//
// registers its events, creates the file READY, writes their records when the file GO exists, and exits when the file
// END exists. It fails if no tool is attached by then. With MORE, it writes that many readings before, as fast as it can.
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#if __has_include(<linux/user_events.h>)
#include <linux/user_events.h>
#else // Debian's linux-libc-dev has the header since Linux 6.4. This is what it says there (include/uapi/linux/user_events.h).
#define DYN_LOC(offset, size) ((size) << 16 | (offset))
struct user_reg {
	__u32 size;
	__u8 enable_bit;
	__u8 enable_size;
	__u16 flags;
	__u64 enable_addr;
	__u64 name_args;
	__u32 write_index;
} __attribute__((__packed__));
struct user_unreg {
	__u32 size;
	__u8 disable_bit;
	__u8 __reserved;
	__u16 __reserved2;
	__u64 disable_addr;
} __attribute__((__packed__));
#define DIAG_IOCSREG _IOWR('*', 0, struct user_reg *)
#define DIAG_IOCSUNREG _IOW('*', 2, struct user_unreg *)
#endif

// Linux 6.1 has the header among its own (include/linux/user_events.h), with this structure.
struct status_reg {
	__u32 size;
	__u64 name_args;
	__u32 status_bit;
	__u32 write_index;
} __attribute__((__packed__));

#define TRACEFS "/sys/kernel/tracing/"
#define ENTRY 8 // bytes of the kernel in front of a record, which offsets of texts count
#define LEN(array) (sizeof(array) / sizeof *(array))

struct event {
	__u32 enabled, index;
	const volatile char *status; // of Linux 6.1, instead of enabled
	char mask;
};

static int data;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void register_event(struct event *e, const char *declaration)
{
	struct user_reg reg = {
		.size = sizeof reg, .enable_size = sizeof e->enabled,
		.enable_addr = (uintptr_t)&e->enabled, .name_args = (uintptr_t)declaration,
	};
	if (!ioctl(data, DIAG_IOCSREG, &reg)) {
		e->index = reg.write_index;
		return;
	}
	if (errno != E2BIG)
		fail(declaration);
	struct status_reg old = {.size = sizeof old, .name_args = (uintptr_t)declaration};
	if (ioctl(data, DIAG_IOCSREG, &old))
		fail(declaration);
	int fd = open(TRACEFS "user_events_status", O_RDONLY);
	const char *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		fail("user_events_status");
	e->status = page + old.status_bit / 8;
	e->mask = 1 << old.status_bit % 8;
	e->index = old.write_index;
}

static void unregister(struct event *e)
{
	struct user_unreg unreg = {.size = sizeof unreg, .disable_addr = (uintptr_t)&e->enabled};
	if (!e->status && ioctl(data, DIAG_IOCSUNREG, &unreg))
		fail("unregister");
}

static void __attribute__((noinline)) write_record(struct event *e, const void *fixed, size_t size, const char *text, size_t len)
{
	if (e->status ? !(*e->status & e->mask) : !*(volatile __u32 *)&e->enabled) {
		fprintf(stderr, "no tool is attached\n");
		exit(1);
	}
	struct iovec parts[] = {{&e->index, sizeof e->index}, {(void *)fixed, size}, {(void *)text, len}};
	if (writev(data, parts, LEN(parts)) < 0)
		fail("writev");
}

struct reading {
	__u32 sensor;
	__s64 value;
	char unit[16];
	__u32 place;
} __attribute__((__packed__));

static void __attribute__((noinline)) write_reading(struct event *e, __u32 sensor, __s64 value, const char *place)
{
	struct reading r = {sensor, value, "degree", DYN_LOC(ENTRY + sizeof r, strlen(place) + 1)};
	write_record(e, &r, sizeof r, place, strlen(place) + 1);
}

struct text {
	char fixed[48];
	__u32 text;
} __attribute__((__packed__));

// write_text writes a text of len bytes, NUL included, in both ways of the kernel.
static void __attribute__((noinline)) write_text(struct event *e, const char *text, size_t len)
{
	struct text t = {.text = DYN_LOC(ENTRY + sizeof t, len)};
	memcpy(t.fixed, text, len < sizeof t.fixed ? len : sizeof t.fixed);
	write_record(e, &t, sizeof t, text, len);
}

static void wait_for(const char *file)
{
	while (access(file, F_OK))
		usleep(5000);
}

int main(int argc, char **argv)
{
	static struct event reading, text;
	char declaration[256], longest[4000];
	if (argc < 4)
		return 2;
	data = open(TRACEFS "user_events_data", O_RDWR);
	if (data < 0)
		fail("user_events_data");
	snprintf(declaration, sizeof declaration, "%s_reading u32 sensor; s64 value; char[16] unit; __data_loc char[] place", argv[1]);
	register_event(&reading, declaration);
	snprintf(declaration, sizeof declaration, "%s_text char[48] fixed; __data_loc char[] text", argv[1]);
	register_event(&text, declaration);
	if (creat(argv[2], 0600) < 0)
		fail(argv[2]);
	wait_for(argv[3]);
	for (long more = argc > 5 ? atol(argv[5]) : 0; more > 0; more--)
		write_reading(&reading, 3, more, "cellar");

	write_reading(&reading, 1, 21, "attic");
	write_reading(&reading, 2, -7, "garden, north");
	write_reading(&reading, 4294967295u, INT64_MIN, "");
#define WRITE_TEXT(s) write_text(&text, s, sizeof s)
	WRITE_TEXT("plain \xc3\xa9t\xc3\xa9");
	WRITE_TEXT("\x1b[2J\x1b]0;title\x07\x1b[31mgone");
	WRITE_TEXT("one\ntwo\r\n12:00:00.000 ERROR forged[1] no record");
	WRITE_TEXT("\xe2\x80\xaegnp.exe \xe2\x81\xa6isolate \xe2\x80\xa8line \xef\xbb\xbf.");
	WRITE_TEXT("\xff\xfe\xc0\xaf\xed\xa0\x80 invalid");
	WRITE_TEXT("\xc2\x9b" "31m \x9b" "32m \x7f\t");
	WRITE_TEXT("before\0after");
	WRITE_TEXT("\"quoted\" \\ back=slash {\"a\":1}");
	for (size_t i = 0; i < sizeof longest; i++)
		longest[i] = "\n\x1b[1m"[i % 5];
	longest[sizeof longest - 1] = 0;
	write_text(&text, longest, sizeof longest);
	if (argc > 4)
		wait_for(argv[4]);
	unregister(&reading);
	unregister(&text);
	return 0;
}
