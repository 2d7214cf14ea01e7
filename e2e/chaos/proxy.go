package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// proxy stands between the operator and the API server. It delays, refuses, loses and repeats what the dice say, and its trap
// holds the operator still right after one of its writes, so that it can be killed there. Nobody else goes through it.
type proxy struct {
	target    *url.URL
	transport http.RoundTripper
	server    *http.Server
	address   string

	dice  *dice
	trap  trap
	seen  passage
	tally *tally
}

// startProxy serves on a free port of this machine until close. Config is a connection to the API server, with the operator's
// credentials: clients do not send theirs over plain HTTP.
func startProxy(config *rest.Config, d *dice, t *tally) (*proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p := &proxy{target: target, transport: transport, address: "http://" + listener.Addr().String(), dice: d, tally: t}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }() // it ends with close
	return p, nil
}

func (p *proxy) close() { _ = p.server.Close() } // what it held is severed

// writeKubeconfig leads whoever reads the file to the proxy.
func (p *proxy) writeKubeconfig(path string) error {
	const name = "proxy"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.address}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}

// call is one request of the operator's, with its body, so that it can be sent more than once.
type call struct {
	*http.Request

	verb    verb
	body    []byte
	arrived time.Time
}

// what names a request for people, as in "patch helmreleases".
func (c call) what() string {
	parts := strings.Split(strings.Trim(c.URL.Path, "/"), "/")
	parts = parts[min(len(parts), 2):] // api/v1
	if !strings.HasPrefix(c.URL.Path, "/api/") {
		parts = parts[min(len(parts), 1):] // apis/GROUP/VERSION
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	what := string(c.verb)
	if len(parts) > 0 {
		what += " " + parts[0]
	}
	if len(parts) > 2 {
		what += "/" + parts[2]
	}
	return what
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the operator died
	}
	c := call{Request: r, verb: verbOf(r), body: body, arrived: time.Now()}
	delay, fault := p.dice.throw(c.verb)
	p.seen.sent(c, fault == faultTooMany)
	if delay > 0 {
		p.tally.count(talliedFaults, string(faultDelayed))
		if pause(r.Context(), delay) != nil {
			return
		}
	}
	if fault != faultNone {
		p.tally.count(talliedFaults, string(fault))
	}
	switch fault {
	case faultUnavailable:
		refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	case faultTooMany:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	case faultReset:
		sever(w)
	default:
		p.pass(w, c, fault)
	}
}

// pass lets a request through.
func (p *proxy) pass(w http.ResponseWriter, c call, f fault) {
	if c.verb == verbWatch {
		p.watch(w, c, f)
		return
	}
	last, dead := p.trap.enter(c)
	if dead {
		sever(w)
		return
	}
	answer, err := p.send(c.Context(), c)
	if err == nil && f == faultRepeated {
		var second answered
		if second, err = p.send(c.Context(), c); p.dice.coin() {
			answer = second
		}
	}
	if last {
		p.trap.spring(c)
		sever(w)
		return
	}
	if err != nil || f == faultLost {
		sever(w)
		return
	}
	answer.write(w)
	p.seen.answered(c, answer.status)
}

// answered is a whole answer of the API server's.
type answered struct {
	status int
	header http.Header
	body   []byte
}

func (p *proxy) send(ctx context.Context, c call) (answered, error) {
	response, err := p.roundTrip(ctx, c)
	if err != nil {
		return answered{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && c.verb.write() {
		p.tally.count(talliedWrites, c.what())
	}
	return answered{status: response.StatusCode, header: response.Header, body: body}, err
}

func (p *proxy) roundTrip(ctx context.Context, c call) (*http.Response, error) {
	out := c.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.target.Scheme, p.target.Host, p.target.Host, ""
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	out.Header.Del("Connection")
	return p.transport.RoundTrip(out)
}

func (a answered) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the operator may be dead
}

// watch passes events on as they come, until either side ends it or the fault does.
func (p *proxy) watch(w http.ResponseWriter, c call, f fault) {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	if f == faultCut {
		timer := time.AfterFunc(p.dice.watchLength(), cancel)
		defer timer.Stop()
	}
	response, err := p.roundTrip(ctx, c)
	if err != nil {
		sever(w)
		return
	}
	defer func() { _ = response.Body.Close() }()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	if err := stream(w, response.Body); err != nil {
		sever(w) // as opposed to ending the answer
	}
}

func stream(w http.ResponseWriter, from io.Reader) error {
	control, buffer := http.NewResponseController(w), make([]byte, 64<<10)
	if err := control.Flush(); err != nil {
		return err
	}
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// refuse answers as an API server does that has too much to do.
func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Message: "chaos", Reason: reason, Code: code,
	})
}

// sever resets the connection without an answer.
func sever(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the connection is broken already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset, not an orderly end
	}
	_ = conn.Close()
}

// pause lets time pass, and fails when the context ends before.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}

// noise are writes that nothing depends on.
var noise = []string{"create events", "patch events", "update leases"}

func (c call) counts() bool { return c.verb.write() && !slices.Contains(noise, c.what()) }
