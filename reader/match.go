package reader

// Match returns a function that reports whether patterns select a tracepoint; their syntax is that of [Options].Events.
// No patterns select all user events. The error wraps EINVAL.
func Match(patterns ...string) (func(system, name string) bool, error) {
	s, err := newSelection(&Options{Events: patterns})
	if err != nil {
		return nil, err
	}
	return s.wants, nil
}
