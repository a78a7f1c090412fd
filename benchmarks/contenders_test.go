package benchmarks

import (
	"io"
	"log/slog"
	"slices"
	"testing"
)

// contender is a way to log, set up as its documentation recommends for production.
type contender struct {
	name      string
	scenarios []scenario
	// off is the disabled call: its level is disabled, or no tracing tool is attached. nil if it is that of another contender.
	off func(tb testing.TB, s scenario) call
	// on is the enabled call: the record is written to the null device, to a collector on this
	// machine, or to a tracing tool. nil if this machine cannot do that.
	on func(tb testing.TB, s scenario) call
}

// disabled is the disabled call, after which there is nothing to deliver.
func (c contender) disabled(tb testing.TB, s scenario) call {
	return call{log: c.off(tb, s).log}
}

// contenders returns all that run on this machine.
func contenders() []contender {
	list := make([]contender, 0, len(loggers))
	for _, l := range loggers {
		list = append(list, contender{
			name: l.name, scenarios: scenarios,
			off: func(tb testing.TB, s scenario) call { return l.open(tb, io.Discard, s, false) },
			on:  func(tb testing.TB, s scenario) call { return l.open(tb, devNull(tb), s, true) },
		})
	}
	return slices.Concat(list, collected, ownContenders())
}

// BenchmarkOff is the disabled call.
func BenchmarkOff(b *testing.B) {
	for _, s := range scenarios {
		run(b, "slog-discard/"+s.name, call{log: slogCall(slog.DiscardHandler, s)})
	}
	for _, c := range contenders() {
		for _, s := range c.scenarios {
			if c.off != nil {
				run(b, c.name+"/"+s.name, c.disabled(b, s))
			}
		}
	}
}

// BenchmarkOn is the enabled call.
func BenchmarkOn(b *testing.B) {
	for _, c := range contenders() {
		for _, s := range c.scenarios {
			if c.on != nil {
				run(b, c.name+"/"+s.name, c.on(b, s))
			}
		}
	}
}
