package symbols

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/userevents/userevents-go/internal/sys"
)

// identity identifies an open file and its version.
type identity struct {
	device, inode  uint64
	path           string // on systems without inodes
	size, modified int64
}

// open opens the file of a mapping. process is the directory of the process in /proc. open tries the process's own
// files first: a path is not reliable if the process is in another mount namespace, or if its program was replaced.
func open(process string, m *Mapping) (*os.File, identity, error) {
	exe, err := sys.Executable(process)
	if err == nil && exe == m.Path {
		if f, id, err := openRegular(os.OpenFile, process+"/exe"); err == nil && id.inode == m.Inode {
			return f, id, nil
		} else if err == nil {
			_ = f.Close() // read only
		}
	}
	link := fmt.Sprintf("%s/map_files/%x-%x", process, m.Start, m.End)
	f, id, err := openRegular(os.OpenFile, link)
	if err == nil || m.Deleted {
		return f, id, err
	}
	// The path has no symbolic links. os.Root keeps links that were added later within the process's root.
	root, err := os.OpenRoot(process + "/root")
	if err != nil {
		return nil, id, err
	}
	f, id, err = openRegular(root.OpenFile, strings.TrimPrefix(m.Path, "/"))
	err = errors.Join(err, root.Close())
	// The device is not compared: with overlayfs, maps and stat have different devices.
	if err == nil && id.inode != m.Inode {
		err = errors.Join(errors.New("the file was replaced while the process runs"), f.Close())
	}
	return f, id, err
}

var errNotRegular = errors.New("no regular file with content")

// identified returns a file that was just opened with its identity, or closes it if that is an error.
func identified(f *os.File, err error) (*os.File, identity, error) {
	if err != nil {
		return nil, identity{}, err
	}
	id, err := identify(f)
	if err != nil {
		return nil, id, errors.Join(err, f.Close())
	}
	return f, id, nil
}

// identify returns the identity of a file, an error if it is no regular one. Files that the kernel makes up when they
// are read have no size.
func identify(f *os.File) (identity, error) {
	st, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	if !st.Mode().IsRegular() || st.Size() == 0 {
		return identity{}, errNotRegular
	}
	id := identity{size: st.Size(), modified: st.ModTime().UnixNano()}
	id.device, id.inode = inodeOf(st)
	if id.inode == 0 {
		id.path = f.Name()
	}
	return id, nil
}
