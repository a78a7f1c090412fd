package ueventstest

import "testing"

// BenchmarkWrite says what the simulated kernel adds to benchmarks that run on it.
func BenchmarkWrite(b *testing.B) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(b, f, "ev u32 a; __rel_loc char[] b")
	buf := message(0, make([]byte, 4), location(0, 36), make([]byte, 36))
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = f.Write(buf)
		}
	}
	b.Run("untraced", run)
	mustAttach(b, k, Ftrace, "ev")
	b.Run("ftrace", run)
	mustAttach(b, k, Perf, "ev")
	b.Run("ftrace+perf", run)
}
