// Package profile writes the stacks at events as a profile that go tool pprof opens: where errors are logged, or where
// the slow requests are.
package profile
