package processcontext

import (
	"encoding/binary"
	"errors"
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

var (
	errMalformed = errors.New("the payload is not a protobuf message")
	errTooDeep   = errors.New("the payload has values that are too deep")
)

// decode returns the resource of a payload, which may be anything. Unknown fields are ignored.
func decode(payload []byte) (resource []Attribute, err error) {
	err = fields(payload, func(tag, _ uint64, message []byte) error {
		if tag != contextResource {
			return nil
		}
		list, err := attributes(message, maxDepth)
		resource = append(resource, list...) // a second message is merged with the first one
		return err
	})
	if err != nil {
		return nil, err
	}
	return resource, nil
}

// fields calls f with the tag of each field of a message, and with its number or its bytes.
func fields(message []byte, f func(tag, number uint64, value []byte) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag>>3 == 0 || tag > math.MaxUint32 {
			return errMalformed
		}
		message = message[n:]
		var number uint64
		var value []byte
		switch tag & 7 {
		case varint:
			if number, n = binary.Uvarint(message); n <= 0 {
				return errMalformed
			}
		case fixed64:
			if n = 8; len(message) < n {
				return errMalformed
			}
			number = binary.LittleEndian.Uint64(message)
		case fixed32:
			n = 4
		case length:
			size, prefix := binary.Uvarint(message)
			if prefix <= 0 || size > uint64(len(message)-prefix) {
				return errMalformed
			}
			n = prefix + int(size)
			value = message[prefix:n]
		default: // groups, which OTLP has none of
			return errMalformed
		}
		if n > len(message) {
			return errMalformed
		}
		message = message[n:]
		if err := f(tag, number, value); err != nil {
			return err
		}
	}
	return nil
}

func attributes(message []byte, depth int) (list []Attribute, err error) {
	err = fields(message, func(tag, _ uint64, keyValue []byte) error {
		if tag != resourceAttributes {
			return nil
		}
		var a Attribute
		err := fields(keyValue, func(tag, _ uint64, b []byte) (err error) {
			switch tag {
			case keyValueKey:
				a.Key = string(b)
			case keyValueValue:
				a.Value, err = value(b, depth)
			}
			return err
		})
		list = append(list, a)
		return err
	})
	return list, err
}

// value decodes an AnyValue. Of several values the last one counts.
func value(message []byte, depth int) (v any, err error) {
	err = fields(message, func(tag, number uint64, b []byte) (err error) {
		switch tag {
		case valueString:
			v = string(b)
		case valueBool:
			v = number != 0
		case valueInt:
			v = int64(number)
		case valueDouble:
			v = math.Float64frombits(number)
		case valueBytes:
			v = append([]byte{}, b...)
		case valueArray, valueMap:
			if depth == 0 {
				return errTooDeep
			}
			if tag == valueMap {
				list, listErr := attributes(b, depth-1)
				v, err = append([]Attribute{}, list...), listErr
			} else {
				v, err = array(b, depth-1)
			}
		}
		return err
	})
	return v, err
}

func array(message []byte, depth int) (any, error) {
	list := []any{}
	err := fields(message, func(tag, _ uint64, b []byte) error {
		if tag != listValues {
			return nil
		}
		v, err := value(b, depth)
		list = append(list, v)
		return err
	})
	return list, err
}
