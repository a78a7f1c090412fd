package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/cgroup"
)

// readStorage reads the lists of containers in a store of podman or CRI-O. Those of podman run --rm are in one of their own.
func (s *Snapshot) readStorage(store string) {
	dir := s.place(filepath.Join(store, "overlay-containers"))
	r, err := open(dir)
	if s.failed(err) || r == nil {
		return
	}
	defer r.Close()
	for _, name := range []string{"containers.json", "volatile-containers.json"} {
		b, err := read(r, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var list []struct {
			ID    string
			Names []string
		}
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err != nil {
			s.failed(fmt.Errorf("%s: %w", filepath.Join(dir, name), err))
			continue
		}
		for _, c := range list {
			if cgroup.IsContainerID(c.ID) && len(c.Names) > 0 {
				s.addNamed(c.ID, c.Names[0], "podman")
			}
		}
	}
}

// readDocker reads the configurations of docker's containers, each in a directory that has its id for a name. It reports whether it
// could list them: not if there is no such directory, or with an error.
func (s *Snapshot) readDocker(dir string) (bool, error) {
	r, err := open(s.place(dir))
	if err != nil || r == nil {
		return false, err
	}
	defer r.Close()
	list, err := s.entries(r)
	if err != nil {
		return false, err
	}
	for _, e := range list {
		if !cgroup.IsContainerID(e.Name()) {
			continue
		}
		name := filepath.Join(e.Name(), "config.v2.json")
		var c struct{ Name string }
		b, err := read(r, name)
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // docker is making or removing it
		case err != nil:
			s.failed(fmt.Errorf("%s: %w", filepath.Join(r.Name(), name), err))
		default:
			s.addNamed(e.Name(), strings.TrimPrefix(c.Name, "/"), "docker")
		}
	}
	return true, nil
}

// patience is how long docker may take to answer, which guards against a daemon that hangs.
const patience = 10 * time.Second

// askDocker asks docker for its containers, or podman where that has docker's socket. It reports whether there was an answer.
func (s *Snapshot) askDocker(socket string) bool {
	path := s.place(socket)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	var list []struct {
		ID    string `json:"Id"`
		Names []string
	}
	err := func() error {
		response, err := client.Get("http://docker/containers/json?all=1")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", path, response.Status)
		}
		b, err := limited(response.Body, path)
		if err != nil {
			return err
		}
		return json.Unmarshal(b, &list)
	}()
	if s.failed(err) {
		return false
	}
	for _, c := range list {
		if cgroup.IsContainerID(c.ID) && len(c.Names) > 0 {
			s.addNamed(c.ID, strings.TrimPrefix(c.Names[0], "/"), "docker")
		}
	}
	return true
}
