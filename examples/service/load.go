package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

// load requests users of a service until ctx is done, some of which do not exist. The requests are spans.
func load(ctx context.Context, log *slog.Logger, url string, perSecond float64) {
	if perSecond == 0 {
		return
	}
	client := newClient()
	defer client.CloseIdleConnections()
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := ask(ctx, client, fmt.Sprintf("%s/users/%d", url, n%4)); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "request failed", "err", err)
			}
		}
	}
}

// newClient returns a client whose requests are spans and carry their context.
func newClient() *http.Client {
	return &http.Client{Transport: otelhttp.NewTransport(http.DefaultTransport.(*http.Transport).Clone())}
}

func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
