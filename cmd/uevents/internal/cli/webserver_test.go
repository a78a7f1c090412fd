package cli

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/userevents/userevents-go/examples/webserver/users"
	"github.com/userevents/userevents-go/sloghandler"
)

// webServer serves the users of examples/webserver. It prints a line when its events are registered, requests some users
// after a line of its standard input, and exits when that ends.
func webServer([]string) error {
	h, err := sloghandler.New("webserver", nil)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(h))
	fmt.Println("registered")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	server := httptest.NewServer(new(users.Store).Handler())
	defer server.Close()
	for _, id := range []int{2, 2, 4} {
		response, err := http.Get(fmt.Sprint(server.URL, "/users/", id))
		if err != nil {
			return err
		}
		response.Body.Close()
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // so that its stacks can be read
		return err
	}
	return h.Close()
}
