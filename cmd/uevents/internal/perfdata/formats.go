package perfdata

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// tracepointFormat is an event in the section of formats.
type tracepointFormat struct {
	system  string
	format  tracepoint.Format
	decoder *reader.Decoder // nil until an event needs it
}

// addFormats adds formats of tracepoints, and resolves the events that waited for them.
func (r *Reader) addFormats(b []byte) error {
	formats, err := parseFormats(b)
	if err != nil {
		return err
	}
	maps.Copy(r.formats, formats)
	for number := range formats {
		waiting := r.unresolved[number]
		delete(r.unresolved, number)
		for _, l := range waiting {
			if err := r.resolve(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve sets the decoder of a tracepoint, once its format is known.
func (r *Reader) resolve(l *layout) error {
	f, ok := r.formats[l.number]
	if !ok {
		r.unresolved[l.number] = append(r.unresolved[l.number], l)
		return nil
	}
	if f.decoder == nil {
		var err error
		if f.decoder, err = reader.NewDecoder(f.system, f.format); err != nil {
			return fmt.Errorf("%w: %w", errFormat, err)
		}
	}
	l.system, l.name, l.decoder = f.system, f.format.Name, f.decoder
	return nil
}

// cursor reads a section from its start. Beyond the end, all values are 0.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return order.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return order.Uint64(b)
	}
	return 0
}

func (c *cursor) text() string {
	i := bytes.IndexByte(c.b, 0)
	if i < 0 {
		c.bad, c.b = true, nil
		return ""
	}
	s := string(c.b[:i])
	c.b = c.b[i+1:]
	return s
}

// parseFormats parses the section of formats, by number of the tracepoint.
func parseFormats(b []byte) (map[uint64]*tracepointFormat, error) {
	c := &cursor{b: b}
	start := c.take(10)
	if string(start) != "\x17\x08\x44tracing" {
		return nil, malformed("its formats do not begin with their mark")
	}
	c.text()  // version
	c.take(6) // byte order, size of long and of pages
	for range 2 {
		c.text() // header_page, header_event
		c.take(c.u64())
	}
	for n := c.u32(); n > 0 && !c.bad; n-- {
		c.take(c.u64())
	}
	formats := map[uint64]*tracepointFormat{}
	for systems := c.u32(); systems > 0 && !c.bad; systems-- {
		system := c.text()
		for events := c.u32(); events > 0 && !c.bad; events-- {
			text := string(c.take(c.u64()))
			if c.bad {
				break
			}
			f, err := tracepoint.ParseFormat(text)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errFormat, err)
			}
			formats[uint64(f.ID)] = &tracepointFormat{system: system, format: f}
		}
	}
	if c.bad {
		return nil, malformed("its formats are cut")
	}
	return formats, nil
}
