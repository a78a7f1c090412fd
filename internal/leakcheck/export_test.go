package leakcheck

// SetAttempts sets how often Run looks whether goroutines have ended and cleanups have run.
func SetAttempts(n int) { attempts = n }
