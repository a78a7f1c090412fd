package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResults(t *testing.T) {
	// What package testing prints under -test.v=test2json; ^ stands for the marker.
	type counts struct{ passed, failed, skipped, benchmarks int }
	tests := []struct {
		name     string
		output   string
		want     counts
		badSkips []string
		printed  string // "": as output, without markers
	}{
		{name: "nothing"},
		{
			name:   "no tests",
			output: "testing: warning: no tests to run\nPASS\n",
		},
		{
			name:    "pass",
			output:  "^=== RUN   TestA\n^--- PASS: TestA (0.00s)\n^=== NAME  \nPASS\n",
			want:    counts{passed: 1},
			printed: "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n",
		},
		{
			name:   "fail",
			output: "^=== RUN   TestA\n    a_test.go:9: boom\n^--- FAIL: TestA (0.00s)\nFAIL\n",
			want:   counts{failed: 1},
		},
		{
			name: "subtests",
			output: "^=== RUN   TestA\n^=== RUN   TestA/x\n^--- PASS: TestA/x (0.00s)\n^=== NAME  TestA\n" +
				"^=== RUN   TestA/y\n^--- FAIL: TestA/y (0.00s)\n^--- FAIL: TestA (0.00s)\n",
			want: counts{passed: 1, failed: 2},
		},
		{
			name:   "allowed skip",
			output: "^=== RUN   TestA\n    a_test.go:9: not on this kernel: no multi-format events\n^--- SKIP: TestA (0.00s)\n",
			want:   counts{skipped: 1},
		},
		{
			name: "allowed skip, then a cleanup logs",
			output: "^=== RUN   TestA\n    a_test.go:9: not on this kernel: too old\n    a_test.go:5: cleaned up\n" +
				"^--- SKIP: TestA (0.00s)\n",
			want: counts{skipped: 1},
		},
		{
			name:     "skip for another reason",
			output:   "^=== RUN   TestA\n    a_test.go:9: needs root\n^--- SKIP: TestA (0.00s)\n",
			want:     counts{skipped: 1},
			badSkips: []string{"TestA (needs root)"},
		},
		{
			name:     "skip without a reason",
			output:   "^=== RUN   TestA\n^--- SKIP: TestA (0.00s)\n",
			want:     counts{skipped: 1},
			badSkips: []string{"TestA ()"},
		},
		{
			name: "reasons of parallel tests do not mix",
			output: "^=== RUN   TestA\n^=== PAUSE TestA\n^=== RUN   TestB\n^=== PAUSE TestB\n" +
				"^=== CONT  TestA\n^=== CONT  TestB\n    b_test.go:9: not on this kernel: old\n" +
				"^=== NAME  TestA\n    a_test.go:9: no\n^--- SKIP: TestA (0.00s)\n^--- SKIP: TestB (0.00s)\n",
			want:     counts{skipped: 2},
			badSkips: []string{"TestA (no)"},
		},
		{
			name:   "a reason does not outlive its test",
			output: "^=== RUN   TestA\n    a_test.go:9: not on this kernel: old\n^--- PASS: TestA (0.00s)\n^=== RUN   TestA\n^--- SKIP: TestA (0.00s)\n",
			want:   counts{passed: 1, skipped: 1}, badSkips: []string{"TestA ()"},
		},
		{
			name:   "look-alikes that tests print",
			output: "^=== RUN   TestA\n--- PASS: TestB (0.00s)\n    --- SKIP: TestC (0.00s)\n=== RUN   TestD\n^--- FAIL: TestA (0.00s)\n",
			want:   counts{failed: 1},
		},
		{
			name:    "a test prints no newline",
			output:  "^=== RUN   TestA\nhello^--- PASS: TestA (0.00s)\n",
			want:    counts{passed: 1},
			printed: "=== RUN   TestA\nhello\n--- PASS: TestA (0.00s)\n",
		},
		{
			name:    "carriage returns and a last line without newline",
			output:  "^=== RUN   TestA\r\n^--- PASS: TestA (0.00s)\r\nPASS",
			want:    counts{passed: 1},
			printed: "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n",
		},
		{
			name:   "benchmarks",
			output: "goos: linux\nBenchmarkA \t    1000\t       221.2 ns/op\nBenchmarkB/x-2 \t 1000\t 5 ns/op\t 0 B/op\nBenchmarkC printed this\nPASS\n",
			want:   counts{benchmarks: 2},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw := strings.ReplaceAll(test.output, "^", string(rune(marker)))
			printed := test.printed
			if printed == "" {
				printed = strings.ReplaceAll(test.output, "^", "")
			}
			var whole, bytewise strings.Builder
			inPieces := newResults(&bytewise)
			r := newResults(&whole)
			_, err := r.Write([]byte(raw))
			require.NoError(t, err)
			require.NoError(t, r.flush())
			for _, c := range []byte(raw) {
				_, err := inPieces.Write([]byte{c})
				require.NoError(t, err)
			}
			require.NoError(t, inPieces.flush())

			assert.Equal(t, test.want, counts{r.passed, r.failed, r.skipped, r.benchmarks})
			assert.Equal(t, test.badSkips, r.badSkips)
			assert.Equal(t, printed, whole.String())
			assert.Equal(t, printed, bytewise.String(), "pieces of one byte make no difference")
			assert.Equal(t, r.badSkips, inPieces.badSkips)
		})
	}
}
