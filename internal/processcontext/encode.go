package processcontext

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Attribute is an attribute of a resource. Its value is nil, a string, bool, int64, float64, []byte, a list of such values as []any, or a
// map as []Attribute. The keys of a resource or a map are unique.
type Attribute struct {
	Key   string
	Value any
}

const (
	maxPayload = 64 << 10 // that readers take, OpenTelemetry's eBPF profiler as well
	maxDepth   = 64       // of values: the default of OpenTelemetry's SDK
)

// The tags of the fields, which are their numbers and wire types, in ProcessContext, Resource, KeyValue, AnyValue, ArrayValue and
// KeyValueList.
const (
	varint  = 0
	fixed64 = 1
	length  = 2
	fixed32 = 5

	contextResource    = 1<<3 | length
	resourceAttributes = 1<<3 | length
	keyValueKey        = 1<<3 | length
	keyValueValue      = 2<<3 | length
	valueString        = 1<<3 | length
	valueBool          = 2<<3 | varint
	valueInt           = 3<<3 | varint
	valueDouble        = 4<<3 | fixed64
	valueArray         = 5<<3 | length
	valueMap           = 6<<3 | length
	valueBytes         = 7<<3 | length
	listValues         = 1<<3 | length
)

// encode returns the payload for a resource.
func encode(resource []Attribute) ([]byte, error) {
	payload := appendBytes(nil, contextResource, appendAttributes(nil, resource, maxDepth))
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("the resource has %d bytes, and readers take %d", len(payload), maxPayload)
	}
	return payload, nil
}

// appendBytes appends a field that is a text, bytes or a message.
func appendBytes[T string | []byte](dst []byte, tag uint64, value T) []byte {
	dst = binary.AppendUvarint(dst, tag)
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}

// appendText appends a text, which protobuf wants as UTF-8.
func appendText(dst []byte, tag uint64, text string) []byte {
	return appendBytes(dst, tag, strings.ToValidUTF8(text, "\uFFFD"))
}

// appendAttributes appends attributes as field 1, which they are in Resource and in KeyValueList.
func appendAttributes(dst []byte, list []Attribute, depth int) []byte {
	for _, a := range list {
		keyValue := appendText(nil, keyValueKey, a.Key)
		keyValue = appendBytes(keyValue, keyValueValue, appendValue(nil, a.Value, depth))
		dst = appendBytes(dst, resourceAttributes, keyValue)
	}
	return dst
}

// appendValue appends the fields of an AnyValue: none for nil, for a list or map below the depth, and for a type that is no value.
func appendValue(dst []byte, value any, depth int) []byte {
	switch v := value.(type) {
	case string:
		return appendText(dst, valueString, v)
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		return binary.AppendUvarint(binary.AppendUvarint(dst, valueBool), n)
	case int64:
		return binary.AppendUvarint(binary.AppendUvarint(dst, valueInt), uint64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(binary.AppendUvarint(dst, valueDouble), math.Float64bits(v))
	case []byte:
		return appendBytes(dst, valueBytes, v)
	case []any:
		if depth > 0 {
			var array []byte
			for _, element := range v {
				array = appendBytes(array, listValues, appendValue(nil, element, depth-1))
			}
			return appendBytes(dst, valueArray, array)
		}
	case []Attribute:
		if depth > 0 {
			return appendBytes(dst, valueMap, appendAttributes(nil, v, depth-1))
		}
	}
	return dst
}
