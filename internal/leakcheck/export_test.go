package leakcheck

import "time"

// SetPatience sets how long Run waits for goroutines and cleanups.
func SetPatience(d time.Duration) { patience = d }
