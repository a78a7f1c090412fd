//go:build !386 && !arm && !mips && !mipsle

package uevents_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/uevents"
)

// openIn opens a provider with an environment, in which no test of this package names the kernel's file.
func openIn(t *testing.T, env, data string, o *uevents.Options) (*uevents.Provider, error) {
	t.Setenv(uevents.EnvTransport, env)
	t.Setenv(uevents.EnvDataFile, data)
	p, err := uevents.Open(o)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p, err
}

func TestTransportNames(t *testing.T) {
	for name, transport := range map[string]uevents.Transport{
		"auto": uevents.TransportAuto, "kernel": uevents.TransportKernel, "memory": uevents.TransportMemory, "off": uevents.TransportOff,
		"Transport(4)": 4,
	} {
		assert.Equal(t, name, transport.String())
	}
}

// TestTransport: the environment wins over the options; what it asks for is what the provider and Probe say.
func TestTransport(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "ordinary"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	for _, c := range []struct {
		name, env, data string
		options         *uevents.Options
		want            uevents.Transport
		err             error
		text            string
	}{
		{"memory by option", "", "", &uevents.Options{Transport: uevents.TransportMemory}, uevents.TransportMemory, nil, ""},
		{"memory by variable", "memory", "", nil, uevents.TransportMemory, nil, ""},
		{"memory by variable, kernel by option", "memory", "", &uevents.Options{Transport: uevents.TransportKernel}, uevents.TransportMemory, nil, ""},
		{"memory where a file is named", "memory", "/nonexistent", nil, uevents.TransportMemory, nil, ""},
		{"off by variable", "off", "", &uevents.Options{Transport: uevents.TransportMemory}, uevents.TransportOff, uevents.ErrNotSupported, "turned off"},
		{"off by option", "", "", &uevents.Options{Transport: uevents.TransportOff}, uevents.TransportOff, uevents.ErrNotSupported, "turned off"},
		{"unknown", "kernal", "", nil, uevents.TransportOff, nil, `transport "kernal" (USER_EVENTS_TRANSPORT or Options.Transport): it must be one of ["auto" "kernel" "memory" "off"]`},
		{"unknown option", "", "", &uevents.Options{Transport: 9}, uevents.TransportOff, nil, `transport "Transport(9)"`},
		{"a file that is not there", "auto", "/nonexistent", nil, uevents.TransportOff, fs.ErrNotExist, "/nonexistent"},
		{"a path that is not there", "", "", &uevents.Options{Path: "/nonexistent"}, uevents.TransportOff, fs.ErrNotExist, "/nonexistent"},
		{"the kernel alone", "kernel", "/nonexistent", nil, uevents.TransportOff, fs.ErrNotExist, "/nonexistent"},
		{"a file that is none of the kernel's", "", "", &uevents.Options{File: file}, uevents.TransportOff, nil, file.Name()},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := openIn(t, c.env, c.data, c.options)
			report := uevents.Probe(c.options)
			assert.Equal(t, c.want, p.Transport())
			assert.Equal(t, c.want, report.Transport)
			if c.want != uevents.TransportOff {
				require.NoError(t, err)
				require.NoError(t, report.Err)
				assert.Contains(t, report.String(), "events: memory\n")
				assert.Empty(t, report.DataFile)
				assert.Equal(t, uevents.ABIUnknown, report.ABI)
				return
			}
			require.ErrorContains(t, err, c.text)
			assert.Equal(t, err.Error(), report.Err.Error())
			assert.Equal(t, err, p.Err())
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
		})
	}
	assert.Equal(t, uevents.TransportOff, (*uevents.Provider)(nil).Transport())
	assert.Equal(t, uevents.TransportOff, new(uevents.Provider).Transport())
}

// TestTransportAuto: where the kernel refuses, events take the memory, and are written.
func TestTransportAuto(t *testing.T) {
	p, err := openIn(t, "", "", nil)
	require.NoError(t, err)
	if uevents.Probe(&uevents.Options{Transport: uevents.TransportKernel}).Err == nil {
		assert.Equal(t, uevents.TransportKernel, p.Transport())
		return
	}
	assert.Equal(t, uevents.TransportMemory, p.Transport())
	ev := mustRegister(t, p, newName()+" u32 a", nil)
	tr := sharedMemory{}.attach(t, 0, ev.Name())
	mustWrite(t, ev, buffer("1234"))
	assert.Len(t, tr.payloads(t), 1)
	assert.Equal(t, uevents.EventStats{Written: 1}, ev.Stats())
}
