package cluster

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Endpoint is an HTTP server that can be broken and mended, at an address that
// stays the same.
type Endpoint struct {
	listen  string // host:port
	url     string
	handler http.Handler

	mu       sync.Mutex
	server   *http.Server // nil while down
	served   chan error   // why the server ended
	login    *login
	requests int
}

type login struct{ user, password string }

// newEndpoint serves the handler on a free port of the host listen and tells
// clients to use the host advertise. A port of 0 means a free one.
func newEndpoint(listen, advertise string, port int, handler http.Handler) (*Endpoint, error) {
	if port == 0 {
		ports, err := freePorts(1)
		if err != nil {
			return nil, err
		}
		port = ports[0]
	}
	e := &Endpoint{
		listen:  net.JoinHostPort(listen, strconv.Itoa(port)),
		url:     httpURL(advertise, port),
		handler: handler,
	}
	return e, e.Up()
}

// URL returns the address for clients in the cluster, as "http://host:port".
func (e *Endpoint) URL() string { return e.url }

// Down stops the server: connections are refused until Up. Calling it again
// does nothing. The error says why the server had ended before.
func (e *Endpoint) Down() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil
	}
	server := e.server
	e.server = nil
	err := errors.Join(server.Close(), <-e.served)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve charts on %s: %w", e.listen, err)
}

// Up starts the server again after Down. Calling it again does nothing.
func (e *Endpoint) Up() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", e.listen)
	if err != nil {
		return fmt.Errorf("serve charts: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(e.serve), ReadHeaderTimeout: time.Minute}
	e.server = server
	served := make(chan error, 1)
	e.served = served
	go func() { served <- server.Serve(listener) }()
	return nil
}

// RequireLogin answers 401 from now on to requests without this basic
// authentication. AllowAnyone ends it.
func (e *Endpoint) RequireLogin(user, password string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.login = &login{user, password}
}

// AllowAnyone serves without authentication, as in the beginning.
func (e *Endpoint) AllowAnyone() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.login = nil
}

// Requests returns how many requests came in so far, those answered 401 too.
func (e *Endpoint) Requests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.requests++
	required := e.login
	e.mu.Unlock()
	if required != nil && !required.matches(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
		http.Error(w, "login required", http.StatusUnauthorized)
		return
	}
	e.handler.ServeHTTP(w, r)
}

func (l login) matches(r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	return subtle.ConstantTimeCompare([]byte(user+"\n"+password), []byte(l.user+"\n"+l.password)) == 1
}
