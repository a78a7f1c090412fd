//go:build !linux

package processcontext

// Context does nothing.
type Context struct{}

// Publish does nothing: only Linux has a format. The error says that the resource has more than 64 KiB.
func Publish(resource []Attribute) (*Context, error) {
	_, err := encode(resource)
	return new(Context), err
}

// Update does nothing. Its error is that of [Publish].
func (c *Context) Update(resource []Attribute) error {
	_, err := encode(resource)
	return err
}

// Close does nothing.
func (c *Context) Close() error { return nil }
