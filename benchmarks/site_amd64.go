package benchmarks

// nopSite is a place for a probe, as USDT probes are.
func nopSite()

// guardedSite is another one, whose callers ask a semaphore first.
func guardedSite()
