package output

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// ParseEvent sets an event from the object that -o json writes. It ignores unknown members: later versions may add some. An
// error says what is no member of a record.
func ParseEvent(ev *reader.Event, v reader.Value) error {
	*ev = reader.Event{CPU: -1}
	known := false
	for _, f := range v.Fields() {
		c := columnOf[f.Name]
		if c == nil || c.parse == nil {
			continue
		}
		if err := c.parse(ev, f.Value); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		known = true
	}
	if !known {
		return fmt.Errorf("no member is one of a record")
	}
	if ev.Kind == reader.KindMetric && ev.Point == nil {
		return fmt.Errorf("a metric without a point")
	}
	if p := ev.Process; p != nil && *p != (reader.Process{}) {
		p.PID = ev.PID
	} else {
		ev.Process = nil
	}
	return nil
}

func parseTime(v reader.Value) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil {
		return time.Time{}, fmt.Errorf("no time: %s", v)
	}
	return t.UTC(), nil
}

func parseID(to []byte, v reader.Value) error {
	id, err := hex.DecodeString(v.Text())
	if err != nil || copy(to, id) != len(id) || len(id) != len(to) {
		return fmt.Errorf("no id of %d bytes: %s", len(to), v)
	}
	return nil
}

// parseNumber returns a number. JSON has those that are not finite as texts.
func parseNumber(v reader.Value) (reader.Value, error) {
	switch v.Type() {
	case reader.TypeInt64, reader.TypeUint64, reader.TypeFloat64:
		return v, nil
	}
	switch v.Text() {
	case "NaN", "Infinity", "-Infinity":
		f, err := strconv.ParseFloat(v.Text(), 64)
		return reader.Float64Value(f), err
	}
	return v, fmt.Errorf("no number: %s", v)
}

func parseFloat(v reader.Value) (float64, error) {
	n, err := parseNumber(v)
	return n.Float64(), err
}

func parseCount(v reader.Value) (uint64, error) {
	if v.Type() != reader.TypeUint64 && (v.Type() != reader.TypeInt64 || v.Int64() < 0) {
		return 0, fmt.Errorf("no count: %s", v)
	}
	return v.Uint64(), nil
}

func parseBytes(v reader.Value) ([]byte, error) { return base64.StdEncoding.DecodeString(v.Text()) }
