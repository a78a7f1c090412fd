package typed

import (
	"reflect"

	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// Plan writes payloads from values of the struct type T. It does not change and
// may be used concurrently.
//
// Exported fields of T become fields of the event, in order, unless their tag
// is `uevent:"-"`. The name is the first part of the tag, or else the Go
// name, and goes through [FieldName]. Options follow after commas. The fields of an embedded struct
// without a name in its tag are treated like those of T; the fields of any other struct too,
// but get the struct's name and an underscore in front of theirs.
//
//	Go type                    field                   value
//	bool                       u8                      0 or 1
//	int8, int16, int32         s32                     (no tool prints a negative s8 or s16 right)
//	int64, int                 s64
//	uint8, uint16, uint32      u8, u16, u32
//	uint64, uint               u64
//	time.Duration              s64                     nanoseconds
//	time.Time                  u64                     as UnixNano
//	float32, float64           __data_loc char[]       as text.AppendFloat
//	  option scale=N           s64                     as Scale: v*N, N an integer
//	string                     __data_loc char[]       as text.Append
//	netip.Addr, AddrPort,
//	Prefix, net.IP             __data_loc char[]       192.0.2.1, [2001:db8::1]:443; empty if not valid
//	[N]byte                    __data_loc char[]       hex digits: trace ids, span ids, digests; never cut
//	  [16]byte, option uuid    __data_loc char[]       8-4-4-4-12
//	[]byte                     __data_loc char[]       hex digits
//	  option text              __data_loc char[]       as text.Append
//	  option raw               __data_loc u8[]
//	[]T, [N]T of a sized
//	integer other than byte    __data_loc u16[] etc.
//	Truncated                  u32                     how many values were truncated
//
// Named types are treated like the type below them.
type Plan[T any] struct {
	plan typedfield.Plan
}

// Truncated is the type of a struct field that tells a consumer how many values of the record were truncated to fit.
// [Plan.Append] fills it in; what the struct holds is ignored.
type Truncated uint32

// MaxLimit is the longest payload in bytes, without the write index, whose locations are sure to fit 16 bits.
const MaxLimit = typedfield.MaxLimit

// PlanFor makes the plan for an event called name with the fields of T. The error
// wraps [tracepoint.ErrInvalid] and names the field at fault.
func PlanFor[T any](name string) (*Plan[T], error) {
	p, err := typedfield.NewPlan(reflect.TypeFor[T](), name)
	if err != nil {
		return nil, err
	}
	return &Plan[T]{p}, nil
}

// Declaration returns the event's name and fields. Do not change the fields.
func (p *Plan[T]) Declaration() tracepoint.Declaration { return p.plan.Declaration() }

// Append appends the payload for *v, at most limit bytes, and returns how many values were
// truncated to achieve that. A limit of 0 or less means
// 4064, what ftrace keeps with the usual pages of 4 KiB: it discards longer payloads silently. Numbers and byte arrays are written even if they take more than limit.
//
// Texts and arrays stand behind the numbers in the order of the fields. If they do not fit, the longest are
// cut to one common length, as [text.Append] does, arrays between two elements. Where that
// would be less than 64 bytes, shorter texts stay whole, as far as there is room for the marks of the others.
//
// Append may grow dst for limit bytes: a buffer with that much room does not grow. It
// does not allocate otherwise, does not keep v or anything that v points to, and *v does not escape.
func (p *Plan[T]) Append(dst []byte, v *T, limit int) (out []byte, truncated int) {
	return p.plan.Append(dst, typedfield.PointerTo(v), limit)
}

// MaxFieldName is the length in bytes of the longest name that [FieldName] returns.
const MaxFieldName = typedfield.MaxFieldName

// FieldName returns the field name for a name from elsewhere, such as an
// OpenTelemetry attribute or a slog key:
//
//   - ASCII letters, digits and underscores stay; any other ASCII character
//     becomes an underscore: http.request.method is http_request_method.
//   - Other characters become u and their code point in at least four hex digits:
//     größe is gru00f6u00dfe. A byte that is not valid UTF-8 counts as U+FFFD.
//   - A name that is empty, or begins with a digit or with common_, which belongs to
//     the kernel, gets an underscore in front.
//   - A name that is longer than [MaxFieldName] then is cut, and ends in an underscore and
//     eight hex digits, the 32-bit FNV-1a hash of the original.
//
// The result always is a valid name of a field or, unless it is enable or filter, of an event.
// Different names may have the same result.
func FieldName(name string) string { return typedfield.FieldName(name) }
