package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditPolicy records who wrote and who listed what, for everybody, and in
// addition every read of a ServiceAccount. Contents are not recorded.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["/*"]
- level: None
  verbs: [get, watch]
  users: [kubernetes-admin, "system:kube-controller-manager", "system:kube-scheduler", "system:kwok", "system:apiserver"]
- level: Metadata
`

// Request is one request that the API server has answered, or, for a watch,
// begun to answer.
type Request struct {
	User        string // as in "system:serviceaccount:kurl-addons:addon-operator"
	Verb        string // get, list, watch, create, update, patch, delete or deletecollection
	Resource    string // with its group, as in "helmreleases.helm.toolkit.fluxcd.io"
	Subresource string
	Namespace   string
	Name        string
	Code        int // HTTP status
	Received    time.Time
}

// Write reports whether the request asked for a change.
func (r Request) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// RequestKind is what requests are counted by.
type RequestKind struct {
	User, Verb, Resource string
}

// CountRequests counts the requests that the API server received at or after
// from and before to, by user, verb and resource. Requests that it has not
// answered yet are not counted.
func (c *Cluster) CountRequests(from, to time.Time) (map[RequestKind]int, error) {
	requests, err := c.Requests(from, to)
	counts := map[RequestKind]int{}
	for _, r := range requests {
		counts[RequestKind{User: r.User, Verb: r.Verb, Resource: r.Resource}]++
	}
	return counts, err
}

// Requests lists the requests that the API server received at or after from
// and before to, in the order of their answers.
func (c *Cluster) Requests(from, to time.Time) ([]Request, error) {
	requests, _, err := c.RequestsSince(0)
	return slices.DeleteFunc(requests, func(r Request) bool { return r.Received.Before(from) || !r.Received.Before(to) }), err
}

// RequestsSince lists the requests that the API server has answered since a
// position in its audit log, in the order of their answers, and returns the
// position after them. The log begins at 0.
func (c *Cluster) RequestsSince(position int64) ([]Request, int64, error) {
	file, err := os.Open(c.auditLog)
	if err != nil {
		return nil, position, fmt.Errorf("read the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(position, io.SeekStart); err != nil {
		return nil, position, fmt.Errorf("read the audit log %s: %w", c.auditLog, err)
	}
	requests, length, err := readRequests(file)
	if err != nil {
		return nil, position, fmt.Errorf("read the audit log %s: %w", c.auditLog, err)
	}
	return requests, position + length, nil
}

// readRequests returns also how many bytes of the log it has read. A last line
// without its end is still being written, and does not count.
func readRequests(log io.Reader) (requests []Request, length int64, err error) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, length, nil
		}
		if err != nil {
			return nil, length, err
		}
		length += int64(len(line))
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, length, err
		}
		if request, counts := toRequest(event); counts {
			requests = append(requests, request)
		}
	}
}

// toRequest leaves out the end of a watch, whose beginning is recorded too.
func toRequest(event auditv1.Event) (request Request, counts bool) {
	if event.ObjectRef == nil || (event.Verb == "watch" && event.Stage == auditv1.StageResponseComplete) {
		return Request{}, false
	}
	request = Request{
		User:        event.User.Username,
		Verb:        event.Verb,
		Resource:    event.ObjectRef.Resource,
		Subresource: event.ObjectRef.Subresource,
		Namespace:   event.ObjectRef.Namespace,
		Name:        event.ObjectRef.Name,
		Received:    event.RequestReceivedTimestamp.Time,
	}
	if group := event.ObjectRef.APIGroup; group != "" {
		request.Resource += "." + group
	}
	if event.ResponseStatus != nil {
		request.Code = int(event.ResponseStatus.Code)
	}
	return request, true
}
