package cli

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkFullRate writes records as fast as it can while the command reads them in another process. It reports the processor
// time of the command for each record that it read, how many were lost, and the most memory that the command had. Every
// record is read or counted as lost.
func BenchmarkFullRate(b *testing.B) {
	kerneltest.Require(b)
	const event = "benchfullrate"
	dir := b.TempDir()
	for _, command := range []struct {
		name string
		args []string
	}{
		{"watch-json", []string{"uevents", "watch", event, "-o", "json", "--duration", "0"}},
		{"record-jsonl", []string{"uevents", "record", event, "-o", filepath.Join(dir, "t.jsonl")}},
	} {
		b.Run(command.name, func(b *testing.B) {
			p, err := uevents.Open(nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, p.Close()) }()
			ev, err := p.Register(tracepoint.MustParse(event+" s64 duration_ns; u64 seq; char[176] text"), nil)
			require.NoError(b, err)
			end := startTool(b, ev, command.args)
			record := make([]byte, uevents.IndexSize+192)
			for range b.N {
				_, _ = ev.WriteRecord(record) // the sum below shows whether it succeeds
			}
			state, said := end()
			require.Zero(b, state.ExitCode(), said)
			s, err := summaryOf(said)
			require.NoError(b, err)
			read, lost := s.parts["shown"]+s.parts["recorded"], s.parts["lost"]
			require.Equal(b, []int{b.N, b.N}, []int{s.matched, read + lost}, said)
			b.ReportMetric(float64(state.UserTime()+state.SystemTime())/float64(read), "ns/op")
			b.ReportMetric(float64(lost), "lost-records")
			b.ReportMetric(float64(state.SysUsage().(*syscall.Rusage).Maxrss)*1024, "max-resident-bytes")
		})
	}
}
