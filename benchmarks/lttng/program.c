// A program whose calls of LTTng-UST's tracepoints are measured. It reads lines of three words: "time" or "count", an event and a
// number of calls. It answers with the nanoseconds or with the instructions that the calls took, the loop's included.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "events.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CALL __attribute__((noinline)) static void
#define TRAP_FLAG 0x100

static uint8_t bytes[300];
static volatile long instructions;

CALL opaque(void) { lttng_ust_tracepoint(bench, opaque, bytes, sizeof bytes); }
CALL two(void) { lttng_ust_tracepoint(bench, two, bytes, sizeof bytes); }
CALL full(void) { lttng_ust_tracepoint(bench, full, bytes, sizeof bytes); }
CALL five(void) { lttng_ust_tracepoint(bench, five, "GET", "/users/{id}", 200, 1500000, 0); }

static struct { const char *name; void (*call)(void); } events[] = {
  {"opaque", opaque}, {"two", two}, {"full", full}, {"five", five}};

static int enabled(void) {
  return lttng_ust_tracepoint_enabled(bench, opaque) && lttng_ust_tracepoint_enabled(bench, two) &&
         lttng_ust_tracepoint_enabled(bench, full) && lttng_ust_tracepoint_enabled(bench, five);
}

static void repeat(void (*call)(void), long n) { while (n-- > 0) call(); }

static long nanoseconds(void (*call)(void), long n) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  repeat(call, n);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
}

static void step(int signal) { instructions++; }

// With the trap flag the processor stops after each instruction, and the kernel sends SIGTRAP.
static long count(void (*call)(void), long n) {
  instructions = 0;
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
  repeat(call, n);
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
  return instructions;
}

int main(void) {
  char what[16], event[16];
  long n;
  signal(SIGTRAP, step);
  if (!enabled()) return fprintf(stderr, "LTTng has not enabled the events\n"), 1;
  while (scanf("%15s %15s %ld", what, event, &n) == 3) {
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
      if (!strcmp(event, events[i].name)) {
        repeat(events[i].call, n / 8); // the program's part is in the caches
        printf("%ld\n", strcmp(what, "count") ? nanoseconds(events[i].call, n) : count(events[i].call, n));
      }
    fflush(stdout);
  }
}
