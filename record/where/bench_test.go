package where_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkMatch decodes a log record with five attributes, and evaluates a condition whose terms all have to hold.
func BenchmarkMatch(b *testing.B) {
	sample := recordtest.Samples(b, func(b testing.TB, p *uevents.Provider) func() {
		h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p})
		require.NoError(b, err)
		return func() {
			slog.New(h).Info("request served", "method", "GET", "route", "/users/{id}", "status", 200, "latency", 1500*time.Microsecond, "user", "41")
		}
	})[0]
	terms := []string{"status == 200", "method == GET", "latency < 1s", "level >= info", "not (route =~ '^/admin')"}
	for _, n := range []int{1, 5, 20} {
		b.Run(fmt.Sprintf("terms=%d", n), func(b *testing.B) {
			var list []string
			for i := range n {
				list = append(list, terms[i%len(terms)])
			}
			c, err := where.Parse(strings.Join(list, " and "))
			require.NoError(b, err)
			var rec record.Record
			b.ReportAllocs()
			for b.Loop() {
				if err := sample.Decoder.DecodeReuse(sample.Raw, &rec); err != nil || !c.Match(&rec) {
					b.Fatal("the record does not match")
				}
			}
		})
	}
}
