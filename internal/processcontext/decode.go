package processcontext

import (
	"encoding/binary"
	"errors"
	"math"
)

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

// attributes decodes those of a Resource or a KeyValueList.
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
