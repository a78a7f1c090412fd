package sloghandler_test

import (
	"log/slog"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestManyDuplicates: the cost of a log call does not grow with the square of its attributes.
func TestManyDuplicates(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{UniqueKeys: true})
	testscale.Linear(t, 500, func(n int) func() {
		tr.Records()
		attrs := make([]slog.Attr, n)
		for i := range attrs {
			attrs[i] = slog.Int(strconv.Itoa(i), i)
		}
		return func() { slog.New(h).LogAttrs(t.Context(), slog.LevelInfo, "m", attrs...) }
	})
	assert.NotEmpty(t, only(t, tr).attributes)
}
