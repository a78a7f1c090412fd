package perf

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/sys"
)

type linux struct {
	poller *sys.Poller
	cgroup int // descriptor of a directory, or -1
}

func newKernel(cgroup string) (kernel, error) {
	k := &linux{cgroup: -1}
	if cgroup != "" {
		fd, err := sys.OpenDir(cgroup)
		if err != nil {
			return nil, fmt.Errorf("selecting a cgroup: %w (Options.Cgroup is its directory, such as /sys/fs/cgroup/system.slice)", err)
		}
		k.cgroup = fd
	}
	poller, err := sys.NewPoller()
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	k.poller = poller
	return k, nil
}

const cpuDir = "/sys/devices/system/cpu"

// CPUs returns how many CPUs of the machine are online. A session has a ring for each.
func CPUs() (int, error) {
	cpus, err := new(linux).online()
	return len(cpus), err
}

func (k *linux) online() ([]cpu, error) {
	file := cpuDir + "/online"
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	numbers, err := parseCPUs(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	cpus := make([]cpu, len(numbers))
	for i, n := range numbers {
		// The kernel creates this directory anew each time (topology_add_dev in drivers/base/topology.c), so even a
		// short time offline is noticed.
		cpus[i] = cpu{n, sys.Inode(fmt.Sprintf("%s/cpu%d/topology", cpuDir, n))}
	}
	return cpus, nil
}

// maxCPU exceeds the number of any CPU (CONFIG_NR_CPUS).
const maxCPU = 1 << 16

// parseCPUs parses a list such as 0-3,8, which is in ascending order.
func parseCPUs(list string) (cpus []int, err error) {
	var least uint64 // a CPU that may follow
	for part := range strings.SplitSeq(list, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 31)
		to, err2 := strconv.ParseUint(last, 10, 31)
		if err1 != nil || err2 != nil || from < least || to < from || to >= maxCPU {
			return nil, fmt.Errorf("%q is no list of CPUs", list)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, int(cpu))
		}
		least = to + 1
	}
	return cpus, nil
}

func (k *linux) files() (free int, err error) {
	limit, err := sys.MaxFiles()
	if err != nil {
		return 0, err
	}
	list, err := os.ReadDir("/proc/self/fd")
	return limit - len(list), err
}

func (k *linux) memory() (uint64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return parseMemory(string(b))
}

// parseMemory returns the available memory from the text of /proc/meminfo, in bytes.
func parseMemory(text string) (uint64, error) {
	_, rest, _ := strings.Cut(text, "\nMemAvailable:")
	number, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " kB")
	n, err := strconv.ParseUint(number, 10, 54)
	if err != nil {
		return 0, fmt.Errorf("/proc/meminfo has no MemAvailable: %w", err)
	}
	return n << 10, nil
}

func (k *linux) open(a sys.PerfAttr, cpu int) (event, error) {
	fd, err := sys.OpenPerf(a, cpu, k.cgroup)
	if err != nil {
		return nil, err
	}
	return &linuxEvent{fd: fd, poller: k.poller}, nil
}

func (k *linux) wait(ms int) error          { return k.poller.Wait(ms) }
func (k *linux) wake() error                { return k.poller.Wake() }
func (k *linux) clocks() (mono, wall int64) { return sys.Clocks() }

func (k *linux) close() (err error) {
	if k.poller != nil {
		err = k.poller.Close()
	}
	if k.cgroup >= 0 {
		err = errors.Join(err, sys.Close(k.cgroup))
	}
	return err
}

type linuxEvent struct {
	fd     int
	poller *sys.Poller
	memory *sys.PerfRing // of an event that owns a ring
}

func (e *linuxEvent) read() (sys.PerfCounts, error) { return sys.ReadPerf(e.fd) }
func (e *linuxEvent) enable(on bool) error          { return sys.EnablePerf(e.fd, on) }
func (e *linuxEvent) setFilter(filter string) error { return sys.SetPerfFilter(e.fd, filter) }
func (e *linuxEvent) setOutput(to event) error      { return sys.SetPerfOutput(e.fd, to.(*linuxEvent).fd) }

func (e *linuxEvent) mapRing(size int, overwrite bool) (*ring, error) {
	memory, err := sys.MapPerf(e.fd, size, overwrite)
	if err != nil {
		return nil, err
	}
	e.memory = memory // close unmaps it
	if !overwrite {
		if err := e.poller.Add(e.fd); err != nil {
			return nil, err
		}
	}
	return &ring{data: memory.Data, head: memory.Head, tail: memory.Tail}, nil
}

func (e *linuxEvent) close() (err error) {
	if e.memory != nil {
		err = e.memory.Unmap()
	}
	return errors.Join(err, sys.Close(e.fd))
}
