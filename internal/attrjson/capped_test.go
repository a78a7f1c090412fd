package attrjson_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// TestFitAfterDrop: what is left of long texts does not depend on others that are dropped, nor on the room in the buffer.
func TestFitAfterDrop(t *testing.T) {
	const limit = 900
	long := strings.Repeat("x", 9000)
	var objects []string
	for _, room := range []int{0, 64 << 10} {
		w := attrjson.Begin(make([]byte, 0, room), limit)
		w.Attrs([]slog.Attr{slog.String(strings.Repeat("k", 895), long), slog.String(strings.Repeat("l", 895), long), slog.String("a", long), slog.String("b", long)})
		buf, _ := w.End(attrjson.KeepAll)
		n, truncated := truncationtest.Fit(buf, limit)
		assert.Equal(t, 4, truncated, "room of %d", room)
		objects = append(objects, string(buf[:n]))
	}
	assert.Equal(t, objects[1], objects[0])
}
