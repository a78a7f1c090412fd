package sloghandler_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
)

// TestEventHeaderSlices: slices of numbers are arrays whatever the size of their elements, nil is null, and errors are their texts.
func TestEventHeaderSlices(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{Encoding: sloghandler.EventHeader})
	for name, tt := range map[string]struct {
		v    any
		want string
	}{
		"int":    {[]int{-1, 2}, `[-1,2]`},
		"int8":   {[]int8{-1}, `[-1]`},
		"int16":  {[]int16{-1}, `[-1]`},
		"int32":  {[]int32{-1}, `[-1]`},
		"int64":  {[]int64{-1}, `[-1]`},
		"uint":   {[]uint{1}, `[1]`},
		"uint16": {[]uint16{1}, `[1]`},
		"uint32": {[]uint32{1}, `[1]`},
		"uint64": {[]uint64{1<<64 - 1}, `[18446744073709551615]`},
		"f32":    {[]float32{0.5}, `[0.5]`},
		"f64":    {[]float64{0.5}, `[0.5]`},
		"bools":  {[]bool{true}, `[true]`},
		"texts":  {[]string{"a"}, `["a"]`},
		"errors": {[]error{errors.New("a"), nil}, `["a","<nil>"]`},
		"nil":    {[]int(nil), `null`},
		"bytes":  {[]byte(nil), `null`},
		"no err": {[]error(nil), `null`},
		"empty":  {[]int{}, `[]`},
	} {
		slog.New(h).Info("m", "v", tt.v)
		raw := tr.Records()
		require.Len(t, raw, 1)
		assert.JSONEq(t, `{"v":`+tt.want+`}`, decoded(t, raw[0]).json, name)
	}
}
