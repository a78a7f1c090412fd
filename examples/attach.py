#!/usr/bin/env python3
"""Prints the events that a program offers in shared memory (docs/wire-formats.md), on x86-64, without a library.

It prints a line for each record (time of CLOCK_MONOTONIC, event, fields), and at the end the counts of read and lost ones.
"""
import argparse, collections, contextlib, ctypes, fcntl, fnmatch, functools, mmap, os, select, signal, struct, sys, time

DATA, CONTROL = ("/memfd:userevents-data (deleted)", 540147712), ("/memfd:userevents-control (deleted)", 131072)
SESSIONS, REGISTRY, GATES, LOSSES, TEXT, AREAS = 0x1000, 0x2000, 0x12000, 0x112000, 0x192000, 0x2a0000  # in data
CLAIMED, ENABLE, REQUESTS, CONTROL_SESSIONS = 0xc, 0x1000, 0x9000, 0xd000  # in control
AREA_SIZE, RINGS, PATTERNS, TAILS, EVENTS = 0x4010000, 0x10000, 0xc00, 0x1000, 4096
SYS_FUTEX, FUTEX_WAKE_OP, OR, ANDN = 202, 5, 2, 3
INTEGERS = {f"{sign}{size * 8}": size for sign in "us" for size in (1, 2, 4, 8)}
libc = ctypes.CDLL(None, use_errno=True)

class Map:
    """A part of a file. u32[offset // 4] and u64[offset // 8] are one load or store; x86-64 keeps loads in order, and stores."""
    def __init__(self, fd, size, offset=0, prot=mmap.PROT_READ, flags=0):
        self.bytes = memoryview(mmap.mmap(fd, size, mmap.MAP_SHARED | flags, prot, offset=offset))
        self.u32, self.u64 = self.bytes.cast("I"), self.bytes.cast("Q")

    def change(self, operation, offset, bit):
        """Sets (OR) or clears (ANDN) a bit. Python has no atomic read-modify-write, but the kernel has, for 32 bits:
        FUTEX_WAKE_OP, here without a thread to wake. Bit 40 of a u64 is bit 8 of its second half."""
        word = ctypes.byref(ctypes.c_char.from_buffer(self.bytes, offset + bit // 32 * 4))
        code = ctypes.c_uint((operation | 8) << 28 | bit % 32 << 12)  # 8: the operand is 1 << bit
        if libc.syscall(SYS_FUTEX, word, FUTEX_WAKE_OP, 0, None, word, code) < 0:
            raise OSError(ctypes.get_errno(), "futex")

def values(fields, payload, at=0):
    for kind, _, name in fields:
        if kind in INTEGERS:
            size = INTEGERS[kind]
            value, at = int.from_bytes(payload[at:at + size], sys.byteorder, signed=kind[0] == "s"), at + size
        elif kind.startswith(("__data_loc ", "__rel_loc ")):
            where, at = int.from_bytes(payload[at:at + 4], sys.byteorder), at + 4
            begin = (where & 0xffff) + (at if kind.startswith("__rel") else -8)
            value = payload[begin:begin + (where >> 16)]
            value = value.split(b"\0")[0].decode(errors="backslashreplace") if kind.endswith("char[]") else value.hex()
        else:  # the size of this type is not known here: the rest of the payload in hexadecimal
            value, at = payload[at:].hex(), len(payload)
        yield f" {name}={value!r}"

class Ring:
    def __init__(self, session, index, key):
        self.size, self.key, self.bytes = session.size, key, session.area.bytes[RINGS + index * session.size:][:session.size]
        self.head, self.tail = session.area.u64[index * 16:], session.own[TAILS + index * 64:].cast("Q")
        self.next, self.limit, self.position = self.head[2], 0, lambda: self.head[0] & (1 << 63) - 1

    def records(self, ended):
        """Yields time, number of the event, and payload, up to a record that is not complete."""
        end, marks = self.position(), self.bytes.cast("Q")
        while self.next < end <= self.tail[0] + self.size:
            at = self.next % self.size
            mark = (marks[at // 8] - self.key - self.next) % 2**64
            if mark > 1 and not ended:
                break
            if mark == 0:
                length, number, when = struct.unpack_from("=IIQ", self.bytes, at + 8)
                yield when, number, bytes(self.bytes[at + 24:at + 24 + length])
                self.next += (24 + length + 7) // 8 * 8
            else:  # the rest of the lap is empty, or the program ended within this record
                self.next += self.size - at if mark == 1 else 8
        self.tail[0] = self.next

class Session:
    def __init__(self, data, control, path, patterns, size):
        self.data, self.control = Map(data, AREAS), Map(control, CONTROL[1], prot=mmap.PROT_READ | mmap.PROT_WRITE)
        if any(file.bytes[:12] != struct.pack("=8sI", b"uevents", 1) for file in (self.data, self.control)):
            sys.exit("the memory of the program is not of version 1")
        for self.index in range(8):
            with contextlib.suppress(BlockingIOError):  # struct flock: type, whence, start, length, pid
                fcntl.fcntl(control, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, self.index, 1, 0))
                break
        else:
            sys.exit("8 tools are attached to the program")
        self.link, self.patterns, self.seen, self.rings, self.waiting, self.clock = (path, data), patterns, 0, [], [], 0
        self.requests, self.read_of = self.control.u32[REQUESTS // 4:][:EVENTS], collections.Counter()
        self.state = self.data.bytes[SESSIONS + self.index * 64:][:64]
        self.own = self.control.bytes[CONTROL_SESSIONS + self.index * 0x2000:][:0x2000]
        self.clear()
        self.size, self.count = size, 1 << (min(64, self.data.u32[3]) - 1).bit_length()
        self.area = Map(data, RINGS + self.count * size, AREAS + self.index * AREA_SIZE, flags=mmap.MAP_POPULATE)
        text = b"".join(p.encode() + b"\0" for p in patterns)
        self.own[PATTERNS:PATTERNS + len(text)] = text
        self.own.cast("Q")[1], self.own.cast("I")[4], self.own.cast("I")[5] = size, self.count, len(text)
        self.own.cast("Q")[0] = self.generation = (max(self.own.cast("Q")[0], *self.state.cast("Q")[:2]) + 1) % 2**64 or 1
        self.control.change(OR, CLAIMED, self.index)

    def clear(self):
        """Ends the session, of this tool or of one that was killed; returns the numbers of the events that it wanted."""
        self.control.change(ANDN, CLAIMED, self.index)
        self.own.cast("I")[5] = 0
        requested = {n for n, request in enumerate(self.requests) if request >> self.index & 1}
        for number in requested:
            self.control.change(ANDN, REQUESTS + number * 4, self.index)
        return requested

    def enable(self, operation, numbers):
        """Sets or clears the enable bits of events. The gate of a bit is the number of its event, plus 1."""
        for gate, follows in enumerate(self.data.u32[GATES // 4:][:64 * self.data.u32[5]] if numbers else ()):
            if follows - 1 in numbers:
                self.control.change(operation, ENABLE + gate // 64 * 8, gate % 64)

    @functools.cache
    def event(self, number):
        at, length = self.data.u32[REGISTRY // 4 + number * 4:][:2]
        text = str(self.data.bytes[TEXT + at:][:length], errors="replace")
        name, _, fields = "".join(c if c.isprintable() else "?" for c in text).partition(" ")
        return name, [f.strip().rpartition(" ") for f in fields.split(";") if f.strip()]

    def look(self):
        """Enables the new events that a pattern matches."""
        first, self.seen = self.seen, min(self.data.u32[4], EVENTS)
        new = {n for n in range(first, self.seen) if any(fnmatch.fnmatchcase(self.event(n)[0], p) for p in self.patterns)}
        for number in new:
            self.control.change(OR, REQUESTS + number * 4, self.index)
        self.enable(OR, new)

    def read(self, ended):
        """Returns, in order of time, the records that no earlier one can follow; None while one is not complete."""
        noticed, opened, key = self.state.cast("Q")[:3]
        if noticed == self.generation != opened and self.state.cast("I")[7]:
            sys.exit("the program has refused the session: " + os.strerror(self.state.cast("I")[7]))
        if opened == self.generation and not self.rings:
            self.rings, self.clock = [Ring(self, index, key) for index in range(self.count)], 0
        for ring in self.rings:
            self.waiting += ring.records(ended)
        if any(ring.next < ring.limit for ring in self.rings):
            return None
        ready = sorted((r for r in self.waiting if r[0] <= self.clock), key=lambda r: r[0])
        self.waiting = [r for r in self.waiting if r[0] > self.clock]
        self.clock = time.monotonic_ns()  # before the positions: what is behind these has later times
        for ring in self.rings:
            ring.limit = ring.position()
        return ready

    def detach(self):
        requested = self.clear()
        self.enable(ANDN, {n for n in requested if not self.requests[n]})
        self.enable(OR, {n for n in requested if self.requests[n]})  # another tool attached meanwhile
        return requested

    def lost(self, number):
        if self.state.cast("Q")[0] != self.generation:
            return 0  # the program has not noticed this session
        bank = self.index * 2 + self.state.cast("I")[6] % 2
        return self.data.u64[LOSSES // 8 + bank * EVENTS + number]

def find(pid):
    """Returns the descriptors of the data file and of its control file, and the link to the data file."""
    data, control = {}, {}
    for entry in os.scandir(f"/proc/{pid}/fd"):
        for files, (link, size), seals, flags in (data, DATA, 0x17, os.O_RDONLY), (control, CONTROL, 0x7, os.O_RDWR):
            with contextlib.suppress(FileNotFoundError):  # a tool has data files of others open, for reading only
                if os.readlink(entry) == link and entry.stat(follow_symlinks=False).st_mode & 0o200:
                    fd = os.open(entry, flags)  # only tmpfs has files of this size with seals
                    if os.fstat(fd).st_size == size and fcntl.fcntl(fd, fcntl.F_GET_SEALS) & seals == seals:
                        files[os.fstat(fd).st_ino] = fd, entry.path
    for fd, path in data.values():
        inode, = struct.unpack("=Q", os.pread(fd, 8, 0x18))
        if inode in control:
            return fd, control[inode][0], path
    sys.exit("the program has no events in shared memory")

def main():
    parser = argparse.ArgumentParser(description="Prints the events that a program offers in shared memory.")
    parser.add_argument("-n", type=int, metavar="RECORDS", default=sys.maxsize, help="end after this number of records")
    parser.add_argument("-s", type=int, metavar="BYTES", default=1 << 18, help="size of each ring, a power of two")
    parser.add_argument("pid", type=int)
    parser.add_argument("pattern", nargs="+", help="names of events, with * and ?")
    args = parser.parse_args()
    stop, program, left = [], select.poll(), args.n
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, lambda *_: stop.append(1))
    program.register(os.pidfd_open(args.pid), select.POLLIN)
    session = Session(*find(args.pid), args.pattern, args.s)
    def show(records):
        nonlocal left
        for when, number, payload in (records or [])[:left]:
            name, fields = session.event(number)
            print(f"{when // 10**9}.{when % 10**9:09d} {name}{''.join(values(fields, payload))}")
            session.read_of[number], left = session.read_of[number] + 1, left - 1
        sys.stdout.flush()
    try:
        session.look()
        print("attached to", args.pid, file=sys.stderr)
        while left and not stop and not program.poll(10) and os.path.samefile(*session.link):
            session.look()
            show(session.read(False))
    except (FileNotFoundError, ProcessLookupError):
        pass  # the program has closed the files, or ends
    finally:
        requested = session.detach()
    for _ in range(100):  # a record that is not complete will be, in a program that runs
        show(session.read(bool(program.poll(1))))
    for number in sorted(requested):
        print(f"{session.event(number)[0]}: {session.read_of[number]} read, {session.lost(number)} lost", file=sys.stderr)

main()
