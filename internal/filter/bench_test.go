package filter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var benchmarks = map[string]string{
	"number": "a >= 200",
	"text":   `text == "/users/42"`,
	"front":  `text ~ "/users/*"`,
	"glob":   `text ~ "/u*[0-9]?"`,
	"comm":   `COMM ~ "fifteen*"`,
	"five":   `(a == 1 || b == -1) && !(c == 1 || CPU > 7) && text ~ "*users*"`,
}

func TestMatchAllocations(t *testing.T) {
	r := sampleRecord()
	for name, text := range benchmarks {
		f, err := bind(text, formatOf(declaration))
		require.NoError(t, err)
		assert.True(t, f.Match(r), name)
		assert.Zero(t, testing.AllocsPerRun(100, func() { f.Match(r) }), name)
	}
}

func BenchmarkMatch(b *testing.B) {
	r := sampleRecord()
	for name, text := range benchmarks {
		f, err := bind(text, formatOf(declaration))
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Match(r)
			}
		})
	}
}
