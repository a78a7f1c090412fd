package eventheader

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTypeStringOfUnknownFormats(t *testing.T) {
	assert.Equal(t, "value8 oldip", TypeOf(Value8, formatOldIP).String())
	assert.Equal(t, "value8 format 19", TypeOf(Value8, formatOldIP+1).String())
}

func TestTypeString(t *testing.T) {
	tests := map[Type]string{
		TypeStruct:                 "struct",
		TypeInt64:                  "value64 signed",
		TypeString:                 "string8",
		TypeJSON:                   "string8 json",
		TypeOf(Binary, FormatIP):   "binary ip",
		TypeOf(0, 0):               "encoding 0",
		TypeOf(31, FormatHexBytes): "encoding 31 hexbytes",
		TypeOf(Value8, 0x7f):       "value8 format 127",
	}
	for typ, want := range tests {
		assert.Equal(t, want, typ.String())
		assert.Equal(t, typ, TypeOf(typ.Encoding(), typ.Format()))
	}
}
