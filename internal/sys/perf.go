package sys

// PerfAttr selects what a perf event counts and what its records have. Records of all events
// have the same layout, so that one ring can hold those of many:
//
//	sample  u64 id; u32 pid, tid; u64 time; [u64 n; u64 ips[n];] u32 size; char raw[size]; [u64 cgroup]
//	other   ...; u32 pid, tid; u64 time; u64 id
//
// after a struct perf_event_header. The brackets are those of Callchain and CgroupID. The time
// is CLOCK_MONOTONIC in nanoseconds. The CPU is that of the ring.
type PerfAttr struct {
	Tracepoint uint64 // its id; 0 is the software event that counts nothing and owns a ring
	CountOnly  bool   // no records
	Lost       bool   // reading returns the lost samples (Linux 6.0 and later, else EINVAL)
	Callchain  bool   // samples have the return addresses of the user's stack
	CgroupID   bool   // samples have the id of the cgroup (CONFIG_CGROUP_PERF, else EINVAL)
	Tasks      bool   // records of names, forks and exits of threads, and with CgroupID of new cgroups
	Backward   bool   // from the end of the ring, for rings that are overwritten
	Watermark  uint32 // bytes in a ring that wake its reader
}

// PerfCounts is what reading a perf event returns.
type PerfCounts struct {
	Matched uint64 // how often the tracepoint was hit and its filter held
	Enabled uint64 // ns
	ID      uint64 // as in the records
	Lost    uint64 // of the records, for lack of room; 0 without PerfAttr.Lost
}
