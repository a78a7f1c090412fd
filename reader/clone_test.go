package reader

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestCloneSharesNothing: a clone has all fields of an event, and stays as it is when all the memory of the event changes. For Header see
// TestEventsAreCopies.
func TestCloneSharesNothing(t *testing.T) {
	var ev Event
	f := filler{}
	f.fill(reflect.ValueOf(&ev).Elem())

	clone := ev.Clone()
	dump := func(ev *Event) string {
		point := *ev.Point
		c := *ev
		c.Point, c.Header = nil, nil
		return fmt.Sprintf("%+v %+v", c, point)
	}
	want := dump(&ev)
	assert.NotContains(t, want, "[]", "a list is empty")
	assert.Equal(t, want, dump(clone))
	for _, change := range f.changes {
		change()
	}
	assert.NotEqual(t, want, dump(&ev))
	assert.Equal(t, want, dump(clone))
}

// filler fills all that an event can refer to with memory of its own.
type filler struct {
	changes []func() // change that memory
}

func (f *filler) bytes() []byte {
	b := []byte("before")
	f.changes = append(f.changes, func() { copy(b, "after!") })
	return b
}

func (f *filler) value() Value {
	fields := []Field{{stringOf(f.bytes()), StringValue(stringOf(f.bytes()))}, {stringOf(f.bytes()), BytesValue(f.bytes())}}
	f.changes = append(f.changes, func() { clear(fields) })
	return MapValue(fields)
}

func (f *filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case Value:
		v.Set(reflect.ValueOf(f.value()))
		return
	case time.Time, *Process, *Decoder, *Header:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(stringOf(f.bytes()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
		f.changes = append(f.changes, v.Index(0).SetZero)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
		f.changes = append(f.changes, v.Elem().SetZero)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	default:
		v.SetUint(1)
	}
}
