package tracepoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

func readFormat(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".format"))
	require.NoError(t, err)
	return string(text)
}

func parseFormat(t testing.TB, name string) tracepoint.Format {
	t.Helper()
	f, err := tracepoint.ParseFormat(readFormat(t, name))
	require.NoError(t, err)
	return f
}

func TestParseFormatOfAUserEvent(t *testing.T) {
	f := parseFormat(t, "every")
	assert.Equal(t, "every", f.Name)
	assert.Equal(t, 1702, f.ID)
	assert.Equal(t, []tracepoint.FormatField{
		{Name: "common_type", Type: tracepoint.Scalar(tracepoint.UShort), Offset: 0, Size: 2},
		{Name: "common_flags", Type: tracepoint.Scalar(tracepoint.UChar), Offset: 2, Size: 1},
		{Name: "common_preempt_count", Type: tracepoint.Scalar(tracepoint.UChar), Offset: 3, Size: 1},
		{Name: "common_pid", Type: tracepoint.Scalar(tracepoint.Int), Offset: 4, Size: 4},
	}, f.Common)

	offset := tracepoint.CommonSize
	require.Len(t, f.Fields, len(every))
	for i, tt := range every {
		assert.Equal(t, tracepoint.FormatField{Name: fmt.Sprintf("f%d", i), Type: tt.typ, Offset: offset, Size: tt.size}, f.Fields[i], tt.text)
		offset += tt.size
	}
}

func TestFormatDeclaration(t *testing.T) {
	var want []string
	for i, tt := range every {
		want = append(want, strings.Replace(tt.text, " f", fmt.Sprintf(" f%d", i), 1))
	}
	d, err := parseFormat(t, "every").Declaration()
	require.NoError(t, err)
	assert.Equal(t, "every "+strings.Join(want, "; "), d.String())
}

func TestFormatDeclarationOfAMultiFormatEvent(t *testing.T) {
	text := strings.Replace(readFormat(t, "every"), "name: every", "name: every.1f", 1)
	f, err := tracepoint.ParseFormat(text)
	require.NoError(t, err)
	assert.Equal(t, "every.1f", f.Name)
	d, err := f.Declaration()
	require.NoError(t, err)
	assert.Equal(t, "every", d.Name)

	f.Name = "every.xyz"
	_, err = f.Declaration()
	assert.ErrorIs(t, err, tracepoint.ErrInvalid)
	f.Name = ".1f"
	_, err = f.Declaration()
	assert.ErrorContains(t, err, "event name is empty")
}

func TestFormatWithoutFields(t *testing.T) {
	f := parseFormat(t, "empty")
	assert.Len(t, f.Common, 4)
	assert.Empty(t, f.Fields)
	d, err := f.Declaration()
	require.NoError(t, err)
	assert.Equal(t, "empty", d.String())
}

// The kernel does not set the length of a user event's array, so the number
// between the brackets is missing or wrong.
func TestFormatArrayLengthComesFromTheSize(t *testing.T) {
	for _, brackets := range []string{"[]", "[20]", "[0]", "[-559038737]", "[7]"} {
		text := strings.Replace(readFormat(t, "empty"), "\nprint fmt",
			"\tfield:char id"+brackets+";\toffset:8;\tsize:20;\tsigned:1;\n\nprint fmt", 1)
		f, err := tracepoint.ParseFormat(text)
		require.NoError(t, err, brackets)
		require.Len(t, f.Fields, 1)
		assert.Equal(t, tracepoint.Array(tracepoint.Char, 20), f.Fields[0].Type, brackets)
	}
}

// TestFormatArrayOfAnUnknownType: a number of elements that is not positive says nothing about their size.
func TestFormatArrayOfAnUnknownType(t *testing.T) {
	for brackets, want := range map[string]tracepoint.Type{
		"[2]":  tracepoint.Array(tracepoint.U32, 2),
		"[1]":  tracepoint.Array(tracepoint.U64, 1),
		"[0]":  tracepoint.Array(tracepoint.U64, 1),
		"[-2]": tracepoint.Array(tracepoint.U64, 1),
		"[N]":  tracepoint.Array(tracepoint.U64, 1),
	} {
		text := strings.Replace(readFormat(t, "empty"), "\nprint fmt",
			"\tfield:some_t a"+brackets+";\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt", 1)
		f, err := tracepoint.ParseFormat(text)
		require.NoError(t, err, brackets)
		require.Len(t, f.Fields, 1)
		assert.Equal(t, want, f.Fields[0].Type, brackets)
	}
}

// TestFormatEmptyLineBeforeCommonFields: only an empty line behind the common fields ends them.
func TestFormatEmptyLineBeforeCommonFields(t *testing.T) {
	f, err := tracepoint.ParseFormat(strings.Replace(readFormat(t, "empty"), "format:\n", "format:\n\n", 1))
	require.NoError(t, err)
	assert.Len(t, f.Common, 4)
	assert.Empty(t, f.Fields)
}

func TestFormatOfKernelEvents(t *testing.T) {
	f := parseFormat(t, "kernel")
	want := map[string]tracepoint.Type{
		"prev_comm": tracepoint.Array(tracepoint.Char, 16),
		"prev_pid":  tracepoint.Scalar(tracepoint.S32),
		"state":     tracepoint.Scalar(tracepoint.S64),
		"args":      tracepoint.Array(tracepoint.U64, 6),
		"saddr":     tracepoint.Array(tracepoint.U8, 4),
		"name":      tracepoint.Scalar(tracepoint.U64),
		"path":      {Kind: tracepoint.Char, Location: tracepoint.DataLoc},
		"cpumask":   {Kind: tracepoint.U8, Location: tracepoint.DataLoc},
		"ok":        tracepoint.Scalar(tracepoint.U8),
		"buf":       tracepoint.StructOf("__u8", 0),
		"odd":       tracepoint.StructOf("some_t", 12),
		"wide":      tracepoint.StructOf("int", 6),
	}
	require.Len(t, f.Fields, len(want))
	for _, field := range f.Fields {
		assert.Equal(t, want[field.Name], field.Type, field.Name)
	}
	_, err := f.Declaration()
	assert.ErrorContains(t, err, "not a user event")
}

// TestFormatOfSystemCalls: arguments have the sizes of registers and no sign in the format file, whatever their types in C.
func TestFormatOfSystemCalls(t *testing.T) {
	f := parseFormat(t, "syscall") // of Linux 7.3
	assert.Equal(t, []tracepoint.FormatField{
		{Name: "__syscall_nr", Type: tracepoint.Scalar(tracepoint.Int), Offset: 8, Size: 4},
		{Name: "dfd", Type: tracepoint.Scalar(tracepoint.Int), Offset: 16, Size: 8},
		{Name: "filename", Type: tracepoint.Scalar(tracepoint.U64), Offset: 24, Size: 8, Pointer: true},
		{Name: "flags", Type: tracepoint.Scalar(tracepoint.Int), Offset: 32, Size: 8},
		{Name: "mode", Type: tracepoint.Scalar(tracepoint.U16), Offset: 40, Size: 8},
		{Name: "__filename_val", Type: tracepoint.Dynamic(tracepoint.Char), Offset: 48, Size: 4},
	}, f.Fields)
	_, err := f.Declaration()
	assert.ErrorContains(t, err, "not a user event")

	field := func(ctype string, size int) tracepoint.FormatField {
		text := strings.Replace(readFormat(t, "empty"), "\nprint fmt", fmt.Sprintf("\tfield:%s a;\toffset:8;\tsize:%d;\tsigned:0;\n\nprint fmt", ctype, size), 1)
		f, err := tracepoint.ParseFormat(text)
		require.NoError(t, err, ctype)
		return f.Fields[0]
	}
	for ctype, want := range map[string]tracepoint.Kind{
		"unsigned int": tracepoint.UInt, "unsigned": tracepoint.U32, "uid_t": tracepoint.U32, "pid_t": tracepoint.S32, "const clockid_t": tracepoint.S32,
		"off_t": tracepoint.S64, "loff_t": tracepoint.S64, "long": tracepoint.S64, "unsigned long": tracepoint.U64, "size_t": tracepoint.U64,
		"u32": tracepoint.U32, "u64": tracepoint.U64, "some_t": tracepoint.U64,
	} {
		assert.Equal(t, tracepoint.FormatField{Name: "a", Type: tracepoint.Scalar(want), Offset: 8, Size: 8}, field(ctype, 8), ctype)
	}
	for _, ctype := range []string{"char *", "const char *const *", "struct stat *", "void *", "struct robust_list_head * *", "int *"} {
		for size, kind := range map[int]tracepoint.Kind{8: tracepoint.U64, 4: tracepoint.U32} {
			assert.Equal(t, tracepoint.FormatField{Name: "a", Type: tracepoint.Scalar(kind), Offset: 8, Size: size, Pointer: true}, field(ctype, size), ctype)
		}
	}
	assert.Equal(t, tracepoint.Scalar(tracepoint.U16), field("umode_t", 4).Type, "of a processor of 32 bits")
	assert.Equal(t, tracepoint.Scalar(tracepoint.S32), field("off_t", 4).Type)
	assert.Equal(t, tracepoint.StructOf("stat *", 5), field("struct stat *", 5).Type)

	// Where the first field is wide, the event is none of user_events either.
	_, err = tracepoint.Format{Name: "a", ID: 1, Fields: []tracepoint.FormatField{field("int", 8)}}.Declaration()
	assert.ErrorContains(t, err, "size 8 in the format file, not 4: not a user event")
}

func TestParseFormatRefuses(t *testing.T) {
	const head = "name: e\nID: 1\nformat:\n"
	const common = head + "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	tests := []struct{ name, text, problem string }{
		{"empty", "", "without a name or an ID"},
		{"no name", "ID: 1\n", "without a name or an ID"},
		{"blank name", "name:  \nID: 1\n", "without a name or an ID"},
		{"no ID", "name: e\nformat:\nprint fmt: \"\"", "without a name or an ID"},
		{"bad ID", "name: e\nID: x\n", "the ID is not a number"},
		{"negative ID", "name: e\nID: -1\n", "the ID is not a number"},
		{"unknown line", head + "hello\n", `line 4 ("hello"): unknown line`},
		{"unknown line behind the common fields", common + "hello\n", `line 6 ("hello"): unknown line`},
		{"no sign", common + "\tfield:u8 a;\toffset:8;\tsize:1;\n", "line 6"},
		{"no offset", common + "\tfield:u8 a;\tsize:1;\tsigned:0;\t;\n", "line 6"},
		{"few properties", common + "\tfield:u8 a;\toffset:8;\n", "line 6"},
		{"bad offset", common + "\tfield:u8 a;\toffset:x;\tsize:1;\tsigned:0;\n", `bad offset "x"`},
		{"negative size", common + "\tfield:u8 a;\toffset:8;\tsize:-1;\tsigned:0;\n", `bad size "-1"`},
		{"huge offset", common + "\tfield:u8 a;\toffset:70000;\tsize:1;\tsigned:0;\n", `bad offset "70000"`},
		{"bad sign", common + "\tfield:u8 a;\toffset:8;\tsize:1;\tsigned:?;\n", `bad signed "?"`},
		{"unknown property", common + "\tfield:u8 a;\toffset:8;\tsize:1;\tsigned:0;\tx:1;\n", `unknown property "x"`},
		{"no field name", common + "\tfield:u8;\toffset:8;\tsize:1;\tsigned:0;\n", "type without a field name"},
		{"wide location", common + "\tfield:__rel_loc char a[];\toffset:8;\tsize:8;\tsigned:0;\n", "dynamic field of 8 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := tracepoint.ParseFormat(tt.text)
			require.ErrorIs(t, err, tracepoint.ErrInvalid)
			assert.ErrorContains(t, err, tt.problem)
			assert.Zero(t, f)
		})
	}
}

func FuzzParseFormat(f *testing.F) {
	for _, name := range []string{"every", "empty", "kernel", "syscall"} {
		f.Add(readFormat(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		format, err := tracepoint.ParseFormat(text)
		if err != nil {
			require.ErrorIs(t, err, tracepoint.ErrInvalid)
			require.Zero(t, format)
			return
		}
		require.NotEmpty(t, format.Name)
		for _, field := range format.Fields {
			size := field.Type.FixedSize() // less in a register
			require.True(t, size == field.Size || size < field.Size && (field.Size == 4 || field.Size == 8) && field.Type == tracepoint.Scalar(field.Type.Kind), "%+v", field)
		}
		if d, err := format.Declaration(); err == nil {
			require.NoError(t, d.Validate())
		}
	})
}

// TestFormatString: the text of a user event's format is the kernel's.
func TestFormatString(t *testing.T) {
	for _, name := range []string{"empty", "every"} {
		f := parseFormat(t, name)
		assert.Equal(t, readFormat(t, name), f.String())
	}
	for _, c := range []struct{ declaration, want string }{
		{"ev __rel_loc u8[] f; struct s c 6; char[4] d", `"f=%llu c=%llu d=%s", REC->f, REC->c, REC->d`},
		{"ev u8 a; __rel_loc char[] b; s64 c; u64 d", `"a=%u b=%s c=%lld d=%llu", REC->a, __get_rel_str(b), REC->c, REC->d`},
	} {
		_, got, _ := strings.Cut(tracepoint.MustParse(c.declaration).Format().String(), "print fmt: ")
		assert.Equal(t, c.want+"\n", got)
	}
}
