// Package workload finds what runs on a machine by the names that operators use: systemd units, containers and pods.
//
// Units, containers' ids and pods' uids are in the cgroups of processes. Names of containers and pods are in files of the kubelet and of
// the runtimes:
//
//	/var/log/pods/NAMESPACE_POD_UID                          the kubelet, with any runtime
//	/var/log/containers/POD_NAMESPACE_NAME-ID.log            the same
//	/var/lib/containers/storage, ~/.local/share/containers   podman and CRI-O
//	/var/lib/docker/containers, ~/.local/share/docker        docker
//
// Where root's files of docker cannot be read, docker's socket is asked. The contents of files are not trusted: a file has a limit of
// size, a directory one of entries, a pipe is not waited for, and no link leads out of the directory of a runtime.
package workload
