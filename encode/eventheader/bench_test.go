package eventheader

import "testing"

// The events of the benchmarks: what a log call of five attributes carries, and twice that.

func fiveDynamic(e *Encoder, dst []byte) ([]byte, error) {
	e.Begin(dst, &Header{Name: "request", Level: LevelInfo}, 0)
	e.String("method", "GET")
	e.String("route", "/users/{id}")
	e.Int64("status", 200)
	e.Uint64("duration", 1_234_567)
	e.Bool("cached", true)
	return e.End()
}

func tenDynamic(e *Encoder, dst []byte) ([]byte, error) {
	e.Begin(dst, &Header{Name: "request", Level: LevelInfo}, 0)
	e.Value("__csver__", TypeOf(Value32, FormatUnsigned), 1024)
	e.BeginStruct("PartC")
	e.String("method", "GET")
	e.String("route", "/users/{id}")
	e.Int64("status", 200)
	e.Uint64("duration", 1_234_567)
	e.Bool("cached", true)
	e.Float64("load", 0.25)
	e.Strings("tags", tags)
	Ints(e, "sizes", sizes)
	e.EndStruct()
	e.Bytes("raw", raw)
	return e.End()
}

var (
	tags  = []string{"a", "b"}
	sizes = []int64{1, 2, 3}
	raw   = []byte{1, 2, 3}
)

func fiveSchema(tb testing.TB) *Schema {
	s, err := NewSchema(Header{Name: "request", Level: LevelInfo},
		Field{Name: "method", Type: TypeString},
		Field{Name: "route", Type: TypeString},
		Field{Name: "status", Type: TypeInt64},
		Field{Name: "duration", Type: TypeUint64},
		Field{Name: "cached", Type: TypeBool},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func fiveRecord(r *Record, s *Schema, dst []byte) ([]byte, error) {
	r.Begin(dst, s, 0)
	r.String("GET")
	r.String("/users/{id}")
	r.Int(200)
	r.Uint(1_234_567)
	r.Bool(true)
	return r.End()
}

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

func BenchmarkRecordFiveFields(b *testing.B) {
	var r Record
	s := fiveSchema(b)
	buf := make([]byte, 4, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fiveRecord(&r, s, buf); err != nil {
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
		if out, err = ev.AppendJSON(out[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
