// Publishes a process context by OTEP 4719, and writes an event of user_events. No library of this project knows it.
//
//	context memfd|anonymous|updates [EVENT]
//
// The mapping of the header is of a file of memfd_create, or has a name only. Its attributes are service.name, team and length; with updates,
// they change until the input has something to read: length is that of team. With EVENT, the program registers that event.
//
// It prints "ready", and for each line of its input it writes a record, if there is an EVENT, and prints "done". It ends with its input.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/types.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

// The header of the OTEP.
struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at;
	uint64_t payload;
};
_Static_assert(sizeof(struct header) == 32, "layout of the OTEP");

struct buffer {
	size_t len;
	unsigned char bytes[4096];
};

static void append_varint(struct buffer *b, size_t n)
{
	for (; n >= 0x80; n >>= 7)
		b->bytes[b->len++] = n | 0x80;
	b->bytes[b->len++] = n;
}

// append_field appends a field of bytes to a message of protobuf.
static void append_field(struct buffer *b, int field, const void *value, size_t len)
{
	append_varint(b, field << 3 | 2);
	append_varint(b, len);
	memcpy(b->bytes + b->len, value, len);
	b->len += len;
}

// append_attribute appends a KeyValue, whose value is an AnyValue, to a Resource.
static void append_attribute(struct buffer *resource, const char *key, const struct buffer *value)
{
	struct buffer attribute = {0};
	append_field(&attribute, 1, key, strlen(key));
	append_field(&attribute, 2, value->bytes, value->len);
	append_field(resource, 1, attribute.bytes, attribute.len);
}

static void append_text(struct buffer *resource, const char *key, const char *text)
{
	struct buffer value = {0};
	append_field(&value, 1, text, strlen(text)); // string_value
	append_attribute(resource, key, &value);
}

static void append_number(struct buffer *resource, const char *key, size_t n)
{
	struct buffer value = {0};
	append_varint(&value, 3 << 3); // int_value
	append_varint(&value, n);
	append_attribute(resource, key, &value);
}

// encode returns a ProcessContext in memory of its own.
static unsigned char *encode(const char *team, size_t *size)
{
	struct buffer resource = {0}, context = {0};
	append_text(&resource, "service.name", "shop-c");
	append_text(&resource, "team", team);
	append_number(&resource, "length", strlen(team));
	append_field(&context, 1, resource.bytes, resource.len);
	unsigned char *payload = malloc(context.len);
	if (!payload)
		fail("malloc");
	memcpy(payload, context.bytes, context.len);
	*size = context.len;
	return payload;
}

static volatile struct header *mapped;

// publish publishes a payload instead of another one, whose memory it frees.
static void publish(unsigned char *payload, size_t size)
{
	static unsigned char *before;
	struct timespec now;
	if (clock_gettime(CLOCK_BOOTTIME, &now))
		fail("clock_gettime");
	uint64_t published_at = now.tv_sec * 1000000000ull + now.tv_nsec;
	if (published_at <= mapped->published_at)
		published_at = mapped->published_at + 1;
	mapped->published_at = 0;
	atomic_thread_fence(memory_order_seq_cst);
	mapped->payload = (uintptr_t)payload;
	mapped->payload_size = size;
	atomic_thread_fence(memory_order_seq_cst);
	mapped->published_at = published_at;
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, mapped, sizeof *mapped, "OTEL_CTX"); // not on all kernels
	free(before);
	before = payload;
}

static void map_header(int with_file)
{
	int fd = -1;
	if (with_file) {
		fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 || ftruncate(fd, sizeof *mapped))
			fail("memfd_create");
	}
	void *at = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | (with_file ? 0 : MAP_ANONYMOUS), fd, 0);
	if (at == MAP_FAILED || madvise(at, sizeof *mapped, MADV_DONTFORK))
		fail("mmap");
	if (with_file)
		close(fd);
	mapped = at;
	memcpy(at, "OTEL_CTX", 8);
	mapped->version = 2;
}

// What include/uapi/linux/user_events.h has since Linux 6.4.
struct reg {
	__u32 size;
	__u8 enable_bit, enable_size;
	__u16 flags;
	__u64 enable_addr, name_args;
	__u32 write_index;
} __attribute__((__packed__));
#define REGISTER _IOWR('*', 0, struct reg *)

static int data = -1;
static __u32 enabled, event;

static void register_event(const char *name)
{
	char declaration[256];
	snprintf(declaration, sizeof declaration, "%s u32 n", name);
	struct reg r = {.size = sizeof r, .enable_size = sizeof enabled, .enable_addr = (uintptr_t)&enabled, .name_args = (uintptr_t)declaration};
	data = open("/sys/kernel/tracing/user_events_data", O_RDWR);
	if (data < 0 || ioctl(data, REGISTER, &r))
		fail("user_events_data");
	event = r.write_index;
}

static void write_record(void)
{
	__u32 n = 1;
	struct iovec parts[] = {{&event, sizeof event}, {&n, sizeof n}};
	if (writev(data, parts, 2) < 0)
		fail("writev");
}

int main(int argc, char **argv)
{
	static const char *teams[] = {"blue", "a team whose name is so long that its length says whether it was read whole"};
	if (argc < 2)
		return 2;
	size_t size;
	map_header(strcmp(argv[1], "anonymous"));
	unsigned char *payload = encode(teams[0], &size);
	publish(payload, size);
	if (argc > 2)
		register_event(argv[2]);
	setbuf(stdout, NULL);
	puts("ready");
	if (!strcmp(argv[1], "updates")) {
		struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
		for (int i = 1; !poll(&input, 1, 0); i = !i) {
			payload = encode(teams[i], &size);
			publish(payload, size);
		}
	}
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		if (data >= 0)
			write_record();
		puts("done");
	}
	return 0;
}
