package controllers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/utils/lru"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kurlsh/addon-operator/flux"
)

const (
	// maxPackage bounds, in bytes, the size of a chart's package.
	maxPackage = 20 << 20
	// packageTimeout bounds the download of a package, and connectTimeout the connection for it: a NetworkPolicy lets nothing come back.
	packageTimeout = 20 * time.Second
	connectTimeout = 3 * time.Second
	// remembered is how many charts are kept in memory.
	remembered = 8
)

// packages downloads charts from source-controller and remembers the last few. The zero value is ready for use.
type packages struct {
	once   sync.Once
	charts *lru.Cache // by digest
}

// digests are the algorithms that source-controller may be set to, but for one that the standard library lacks.
var digests = map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}

// downloader asks source-controller itself, as nobody else serves its packages: no proxy, and no redirection.
var downloader = &http.Client{
	Timeout:       packageTimeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     time.Minute,
	},
}

// read returns the chart in an artifact.
func (p *packages) read(ctx context.Context, artifact *meta.Artifact) (*flux.Chart, error) {
	p.once.Do(func() { p.charts = lru.New(remembered) })
	if known, ok := p.charts.Get(artifact.Digest); ok {
		if chart, ok := known.(*flux.Chart); ok {
			return chart, nil
		}
	}
	content, err := download(ctx, artifact.URL)
	if err != nil {
		return nil, fmt.Errorf("downloading the chart from source-controller, which has it (a NetworkPolicy may forbid it): %w", err)
	}
	if err := verify(content, artifact.Digest); err != nil {
		return nil, fmt.Errorf("chart %s: %w", artifact.URL, err)
	}
	chart, err := flux.ReadChart(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", artifact.URL, err)
	}
	if chart.Unread != "" {
		logf.FromContext(ctx).Info("Values for a chart are not checked in full, since part of it cannot be read", "chart", chart.Name, "version", chart.Version, "cause", chart.Unread)
	}
	p.charts.Add(artifact.Digest, chart)
	return chart, nil
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := downloader.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxPackage+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxPackage {
		return nil, fmt.Errorf("%s is larger than %d MiB", url, maxPackage>>20)
	}
	return content, nil
}

func verify(content []byte, digest string) error {
	algorithm, want, _ := strings.Cut(digest, ":")
	newHash, known := digests[algorithm]
	if !known {
		return fmt.Errorf("cannot check a digest of the kind %q", algorithm)
	}
	sum := newHash()
	sum.Write(content)
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("its digest is %s:%s, not %s", algorithm, got, digest)
	}
	return nil
}
