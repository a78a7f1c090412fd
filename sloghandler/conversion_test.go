package sloghandler_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
)

// kept says that a value cannot be converted: the attribute stays in the field attributes.
const kept = "-"

// converted tests which values of attributes become which text of a field of type T.
func converted[T any](t *testing.T, want map[any]string) {
	t.Run(fmt.Sprintf("%T", *new(T)), func(t *testing.T) {
		type record struct {
			K T `uevent:"k"`
		}
		convertedTo(t, "k", sloghandler.Declare[record]("m", nil), want)
	})
}

func convertedTo(t *testing.T, name string, d sloghandler.AnyDeclaration, want map[any]string) {
	t.Helper()
	h, tr := attached(t, declaring(d))
	for in, want := range want {
		before := h.Stats()["app_m"].Unconverted
		slog.New(h).Info("m", "k", in)
		r := only(t, tr)
		require.Equal(t, "app_m", r.event)
		unconverted := h.Stats()["app_m"].Unconverted - before
		if want == kept {
			assert.Contains(t, r.attributes, "k", "%T %v", in, in)
			assert.EqualValues(t, 1, unconverted, "%T %v", in, in)
			continue
		}
		assert.Equal(t, "{}", r.json, "%T %v", in, in)
		assert.Zero(t, unconverted, "%T %v", in, in)
		assert.Equal(t, want, r.fields[name], "%T %v", in, in)
	}
}

// TestConversions is the table of which value becomes what in which field. Nothing is lost and nothing is guessed: numbers
// have no unit, and truth values are no numbers.
func TestConversions(t *testing.T) {
	type (
		named      int8
		namedUint  uint16
		namedFloat float32
		namedBool  bool
	)
	at := time.Unix(1_000_000_000, 123456789).UTC()
	converted[string](t, map[any]string{
		"text": "text", 12: "12", uint64(math.MaxUint64): "18446744073709551615", true: "true", 0.1: "0.1",
		time.Second: "1s", at: "2001-09-09T01:46:40.123456789Z", errors.New("an error"): "an error", time.March: "March",
		[2]byte{1, 2}: kept, struct{}{}: kept, nil: kept,
		namedUint(3): "3", namedFloat(0.5): "0.5", namedBool(true): "true",
	})
	converted[bool](t, map[any]string{
		true: "1", false: "0", "true": "1", "false": "0", namedBool(true): "1", namedBool(false): "0",
		0: kept, 1: kept, 2: kept, uint8(1): kept, 1.0: kept, named(1): kept, "yes": kept, "1": kept, time.Duration(1): kept,
	})
	integers := func(more map[any]string) map[any]string {
		all := map[any]string{
			7: "7", uint8(7): "7", 7.0: "7", "7": "7", named(7): "7", namedUint(7): "7", namedFloat(7): "7", time.March: "3",
			namedBool(true): kept,
			7.5:             kept, math.NaN(): kept, 1e300: kept, "+7": kept, "07": kept, "7.0": kept, "": kept,
			true: kept, false: kept, time.Nanosecond: kept, time.Hour: kept, at: kept, nil: kept,
		}
		maps.Copy(all, more)
		return all
	}
	converted[int8](t, integers(map[any]string{-128: "-128", 127: "127", 128: kept, 200: kept, uint8(200): kept, "200": kept, "127": "127", "-128": "-128", "-129": kept, 200.0: kept, -129: kept}))
	converted[int16](t, integers(map[any]string{-32768: "-32768", 32768: kept, uint16(40000): kept, "-32769": kept}))
	converted[int32](t, integers(map[any]string{math.MinInt32: "-2147483648", int64(math.MaxInt32) + 1: kept, named(-7): "-7"}))
	converted[int64](t, integers(map[any]string{int64(math.MinInt64): "-9223372036854775808", uint64(math.MaxUint64): kept, "-12": "-12"}))
	converted[int](t, integers(map[any]string{-7: "-7"}))
	converted[uint8](t, integers(map[any]string{255: "255", 256: kept, -1: kept}))
	converted[uint16](t, integers(map[any]string{"65535": "65535", "65536": kept}))
	converted[uint32](t, integers(map[any]string{uint64(math.MaxUint32): "4294967295", uint64(math.MaxUint32) + 1: kept}))
	converted[uint64](t, integers(map[any]string{
		uint64(math.MaxUint64): "18446744073709551615", "18446744073709551615": "18446744073709551615",
		float64(1 << 63): "9223372036854775808", -0.5: kept,
	}))
	for _, floats := range []func(*testing.T, map[any]string){converted[float64], converted[float32]} {
		floats(t, map[any]string{
			0.25: "0.25", 3: "3", int64(math.MaxInt64): kept, uint64(1 << 63): "9223372036854776000", "0.5": "0.5", "0.50": kept,
			math.Inf(1): "Infinity", true: kept, time.Second: kept, at: kept,
		})
	}
	converted[time.Duration](t, map[any]string{
		time.Hour: "3600000000000", "1h0m0s": "3600000000000", "1h": kept,
		5: kept, uint64(5): kept, 5.0: kept, "5": kept, named(5): kept, true: kept, at: kept,
	})
	converted[time.Time](t, map[any]string{
		at: "1000000000123456789", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): kept, time.Unix(-1, 0): kept,
		5: kept, uint64(5): kept, -5: kept, "2001-09-09T01:46:40Z": kept, "5": kept, time.Second: kept,
	})
	type state string
	converted[state](t, map[any]string{"on": "on", state("off"): "off", 1: "1"})
	addr := netip.MustParseAddr("2001:db8::1")
	converted[netip.Addr](t, map[any]string{addr: "2001:db8::1", "192.0.2.1": "192.0.2.1"})
}

// TestConversionOfScaledFloats: a number with a fraction is written as a multiple. An integer may be one already.
func TestConversionOfScaledFloats(t *testing.T) {
	type record struct {
		K float64 `uevent:"k,scale=1000"`
	}
	convertedTo(t, "k", sloghandler.Declare[record]("m", nil), map[any]string{
		1.5: "1500", -0.0004: "0", float32(0.25): "250", 2: kept, "1.5": kept, true: kept,
		9e15: "9000000000000000000", -9e15: "-9000000000000000000", 1e16: kept, -1e300: kept, math.NaN(): kept, math.Inf(1): kept,
	})
}

// TestConversionAtEnds: the smallest and the largest number that a multiple can be.
func TestConversionAtEnds(t *testing.T) {
	type record struct {
		K float64 `uevent:"k,scale=2"`
	}
	convertedTo(t, "k", sloghandler.Declare[record]("m", nil), map[any]string{
		-float64(1 << 62): "-9223372036854775808", math.Nextafter(-1<<62, math.Inf(-1)): kept,
		float64(1 << 62): kept, math.Nextafter(1<<62, 0): "9223372036854774784",
	})
}

// panicsAsText are values whose own methods, which a field with text asks first, panic.
type (
	panicsAsError  struct{ N int }
	panicsAsText   struct{ N int }
	panicsAsString struct{ N int }
)

func (panicsAsError) Error() string               { panic("no error") }
func (panicsAsText) MarshalText() ([]byte, error) { panic("no text") }
func (panicsAsString) String() string             { panic("no string") }

// TestConversionPanics: a value whose method panics stays an attribute, and the rest of the record is written.
func TestConversionPanics(t *testing.T) {
	type record struct {
		K string `uevent:"k"`
		N int    `uevent:"n"`
	}
	h, tr := attached(t, declaring(sloghandler.Declare[record]("m", nil)))
	for _, v := range []any{panicsAsError{}, panicsAsText{}, panicsAsString{}, (*panicsAsString)(nil)} {
		slog.New(h).Info("m", "k", v, "n", 5)
		r := only(t, tr)
		assert.Contains(t, r.attributes, "k", "%T", v)
		assert.Empty(t, r.fields["k"], "%T", v)
		assert.Equal(t, "5", r.fields["n"], "%T", v)
	}
}

// TestConversionOfArrays: only a struct has the value of an array or an id. An attribute of that name has no field.
func TestConversionOfArrays(t *testing.T) {
	type record struct {
		ID    [4]byte  `uevent:"id"`
		Codes []uint16 `uevent:"codes"`
		N     int      `uevent:"n"`
	}
	h, tr := attached(t, declaring(sloghandler.Declare[record]("m", nil)))
	slog.New(h).Info("m", "id", "01020304", "codes", []uint16{1, 2}, "n", 3)
	r := only(t, tr)
	assert.Equal(t, `{"id":"01020304","codes":[1,2]}`, r.json)
	assert.Empty(t, r.fields["id"])
	assert.Equal(t, "3", r.fields["n"])
	assert.Zero(t, h.Stats()["app_m"].Unconverted)
}
