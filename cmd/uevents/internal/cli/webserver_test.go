package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/userevents/userevents-go/examples/webserver/users"
	"github.com/userevents/userevents-go/sloghandler"
)

// webServer serves the users of examples/webserver. It prints a line when its events are registered, requests some users
// as soon as a tool is attached to the events of the levels that are its arguments, and exits when its standard input ends.
func webServer(args []string) error {
	h, err := sloghandler.New("webserver", nil)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(h))
	fmt.Println("registered")
	for _, name := range args {
		var level slog.Level
		if err := level.UnmarshalText([]byte(name)); err != nil {
			return err
		}
		if err := until(func() bool { return h.Enabled(context.Background(), level) }); err != nil {
			return err
		}
	}
	time.Sleep(settle)
	server := httptest.NewServer(new(users.Store).Handler())
	defer server.Close()
	for _, id := range []int{2, 2, 4} {
		response, err := http.Get(fmt.Sprint(server.URL, "/users/", id))
		if err != nil {
			return err
		}
		response.Body.Close()
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // so that its stacks can be read
		return err
	}
	return h.Close()
}
