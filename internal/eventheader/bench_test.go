package eventheader

import "testing"

// The events of the benchmarks: what a log call of five attributes carries, and twice that.

func fiveDynamic(e *Encoder, dst []byte) ([]byte, error) {
	e.Begin(dst, &Header{Name: "request", Level: LevelInfo}, 0)
	e.String("method", "GET")
	e.String("route", "/users/{id}")
	e.Int64("status", 200)
	e.Int64("duration", 1_234_567)
	e.Bool("cached", true)
	return e.End()
}

func tenDynamic(e *Encoder, dst []byte) ([]byte, error) {
	e.Begin(dst, &Header{Name: "request", Level: LevelInfo}, 0)
	e.Value("__csver__", typeOf(encValue32, FormatUnsigned), 1024)
	e.BeginStruct("PartC")
	e.String("method", "GET")
	e.String("route", "/users/{id}")
	e.Int64("status", 200)
	e.Int64("duration", 1_234_567)
	e.Bool("cached", true)
	e.Float64("load", 0.25)
	e.Strings("tags", tags)
	Ints(e, "sizes", sizes)
	e.EndStruct()
	e.Bytes("raw", rawBytes)
	return e.End()
}

var (
	tags     = []string{"a", "b"}
	sizes    = []int64{1, 2, 3}
	rawBytes = []byte{1, 2, 3}
)

func BenchmarkEncoderFiveFields(b *testing.B) {
	var e Encoder
	buf := make([]byte, 4, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fiveDynamic(&e, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncoderTenFields(b *testing.B) {
	var e Encoder
	buf := make([]byte, 4, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tenDynamic(&e, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTenFields(b *testing.B) {
	payload, err := tenDynamic(new(Encoder), nil)
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		ev, err := Decode("myapp_L4K1", payload)
		if err != nil {
			b.Fatal(err)
		}
		if out, err = ev.appendJSON(out[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
