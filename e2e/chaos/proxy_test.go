package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

const somewhere = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/kurl-addons/helmreleases/app"

// server counts the writes that it carries out, and sends a line of every watch that lasts.
type server struct{ writes atomic.Int32 }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch verb := verbOf(r); {
	case verb.write():
		body, _ := io.ReadAll(r.Body)
		s.writes.Add(1)
		_, _ = w.Write(body)
	case verb == verbWatch:
		_, _ = io.WriteString(w, "event\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// before puts a proxy before a server that does to all requests what the rates say.
func before(t *testing.T, s *server, all rates) *proxy {
	t.Helper()
	backend := httptest.NewServer(s)
	t.Cleanup(backend.Close)
	perVerb := map[verb]rates{}
	for _, v := range []verb{verbRead, verbWatch, verbCreate, verbUpdate, verbPatch, verbDelete} {
		perVerb[v] = all
	}
	p, err := startProxy(&rest.Config{Host: backend.URL}, &dice{rng: rand.New(rand.NewPCG(1, 1)), rates: perVerb}, newTally())
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

// ask returns the status of the answer, and after how many seconds to ask again.
func ask(ctx context.Context, p *proxy, method, path string) (code int, again string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, p.address+path, strings.NewReader("body"))
	if err != nil {
		return 0, "", err
	}
	response, err := (&http.Transport{}).RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	return response.StatusCode, response.Header.Get("Retry-After"), response.Body.Close()
}

func TestFaultsOfWrites(t *testing.T) {
	for name, test := range map[string]struct {
		rates      rates
		code       int // 0 means no answer
		again      string
		carriedOut int32
	}{
		"none":        {code: 200, carriedOut: 1},
		"delayed":     {rates: rates{faultDelayed: 1}, code: 200, carriedOut: 1},
		"unavailable": {rates: rates{faultUnavailable: 1}, code: 503},
		"too many":    {rates: rates{faultTooMany: 1}, code: 429, again: "1"},
		"reset":       {rates: rates{faultReset: 1}},
		"answer lost": {rates: rates{faultLost: 1}, carriedOut: 1},
		"repeated":    {rates: rates{faultRepeated: 1}, code: 200, carriedOut: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			p := before(t, s, test.rates)
			code, again, err := ask(t.Context(), p, http.MethodPatch, somewhere)
			assert.Equal(t, test.carriedOut, s.writes.Load())
			assert.Equal(t, len(test.rates), p.tally.total(talliedFaults))
			assert.Equal(t, int(test.carriedOut), p.tally.total(talliedWrites))
			if test.code == 0 {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.code, code)
			assert.Equal(t, test.again, again)
		})
	}
}

func TestAWatchIsPassedOnAndCut(t *testing.T) {
	for name, all := range map[string]rates{"cut": {faultCut: 1}, "left alone": {}} {
		t.Run(name, func(t *testing.T) {
			p := before(t, &server{}, all)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+somewhere+"?watch=true", http.NoBody)
			require.NoError(t, err)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			defer func() { _ = response.Body.Close() }()
			event := make([]byte, 6)
			_, err = io.ReadFull(response.Body, event)
			require.NoError(t, err, "events come at once")
			if all[faultCut] > 0 {
				_, err = response.Body.Read(event)
				require.Error(t, err)
				require.NotErrorIs(t, err, io.EOF, "it does not end, it breaks off")
			}
		})
	}
}

func TestTheTrapHoldsTheOperatorRightAfterAWrite(t *testing.T) {
	s := &server{}
	p := before(t, s, nil)
	sprung := p.trap.arm(2)
	_, _, err := ask(t.Context(), p, http.MethodPatch, somewhere)
	require.NoError(t, err)
	_, _, err = ask(t.Context(), p, http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events")
	require.NoError(t, err, "noise does not count")

	last := make(chan error)
	go func() {
		_, _, err := ask(t.Context(), p, http.MethodDelete, somewhere)
		last <- err
	}()
	assert.Equal(t, "delete helmreleases", <-sprung)
	assert.EqualValues(t, 3, s.writes.Load(), "it has been carried out")
	_, _, err = ask(t.Context(), p, http.MethodGet, somewhere)
	require.NoError(t, err, "reads pass")
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err = ask(brief, p, http.MethodPatch, somewhere)
	require.ErrorIs(t, err, context.DeadlineExceeded, "writes are held")

	p.trap.release()
	require.Error(t, <-last)
	assert.EqualValues(t, 3, s.writes.Load(), "nothing was carried out after the last write")
	_, _, err = ask(t.Context(), p, http.MethodDelete, somewhere)
	require.NoError(t, err)
}

func TestWhatARequestIsCalled(t *testing.T) {
	for path, what := range map[string]string{
		somewhere:                                       "read helmreleases",
		somewhere + "/status":                           "read helmreleases/status",
		"/apis/addons.kurl.sh/v1alpha1/addons":          "read addons",
		"/apis/addons.kurl.sh/v1alpha1/addons/a/status": "read addons/status",
		"/api/v1/namespaces/a":                          "read namespaces",
		"/api/v1/namespaces/a/configmaps/b":             "read configmaps",
		"/api/v1/nodes?watch=1":                         "watch nodes",
		"/healthz":                                      "read",
	} {
		t.Run(path, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			assert.Equal(t, what, call{Request: r, verb: verbOf(r)}.what())
		})
	}
}

func TestThePassOfADeletionBeginsWithTheFirstOfItsRepetitions(t *testing.T) {
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	p := &passage{deletes: []attempt{
		{release: "app", arrived: at(0), repeats: true}, // another pass, long ago
		{release: "app", arrived: at(10), repeats: false},
		{release: "app", arrived: at(12), repeats: true},
		{release: "other", arrived: at(12.5)},
		{release: "app", arrived: at(13), repeats: true},
		{release: "app", arrived: at(14)},
		{release: "app", arrived: at(20)},
	}}
	assert.Equal(t, at(12), p.begun("app", at(14.1)))
	assert.Equal(t, at(20), p.begun("app", at(21)))
	assert.Equal(t, at(10), p.begun("app", at(11)))
	assert.Equal(t, at(5), p.begun("unknown", at(5)))
}
