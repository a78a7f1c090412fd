package reader

// Match returns a function that reports whether any of the patterns selects a tracepoint; their syntax is that of
// [Options].Events. The error wraps EINVAL.
func Match(patterns ...string) (func(system, name string) bool, error) {
	s, err := newSelection(&Options{Events: patterns})
	if err != nil {
		return nil, err
	}
	return s.wants, nil
}
