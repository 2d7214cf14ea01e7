package cluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/registry"
	"sigs.k8s.io/yaml"
)

const (
	ociFolder      = "charts"
	manifestType   = "application/vnd.oci.image.manifest.v1+json"
	helmConfigType = "application/vnd.cncf.helm.config.v1+json"
	helmChartType  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartRegistry returns an OCI registry in memory that holds all chart
// packages of a folder, as "charts/<name>" tagged by version.
func chartRegistry(packages string) (http.Handler, error) {
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	paths, err := filepath.Glob(filepath.Join(packages, "*.tgz"))
	if err != nil {
		return nil, fmt.Errorf("fill the registry: %w", err)
	}
	for _, path := range paths {
		if err := pushChart(handler, path); err != nil {
			return nil, fmt.Errorf("push %s to the registry: %w", path, err)
		}
	}
	return handler, nil
}

// blob refers to content of a registry.
type blob struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// manifest describes a chart, as "helm push" would.
type manifest struct {
	SchemaVersion int    `json:"schemaVersion"`
	MediaType     string `json:"mediaType"`
	Config        blob   `json:"config"`
	Layers        []blob `json:"layers"`
}

func pushChart(registry http.Handler, path string) error {
	chart, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	metadata, err := chartMetadata(chart)
	if err != nil {
		return err
	}
	var identity struct{ Name, Version string }
	if err := json.Unmarshal(metadata, &identity); err != nil {
		return err
	}
	repository := "/v2/" + ociFolder + "/" + identity.Name
	config := describe(helmConfigType, metadata)
	layer := describe(helmChartType, chart)
	content, err := json.Marshal(manifest{
		SchemaVersion: 2, MediaType: manifestType, Config: config, Layers: []blob{layer},
	})
	if err != nil {
		return err
	}
	uploads := repository + "/blobs/uploads/?digest="
	return errors.Join(
		send(registry, http.MethodPost, uploads+config.Digest, config.MediaType, metadata),
		send(registry, http.MethodPost, uploads+layer.Digest, layer.MediaType, chart),
		send(registry, http.MethodPut, repository+"/manifests/"+identity.Version, manifestType, content),
	)
}

func describe(mediaType string, content []byte) blob {
	sum := sha256.Sum256(content)
	return blob{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(content)}
}

// send hands a request to the registry without a network between.
func send(registry http.Handler, method, target, mediaType string, content []byte) error {
	request := httptest.NewRequest(method, target, bytes.NewReader(content))
	request.Header.Set("Content-Type", mediaType)
	response := httptest.NewRecorder()
	registry.ServeHTTP(response, request)
	if response.Code != http.StatusCreated {
		return fmt.Errorf("%s %s: status %d: %s", method, target, response.Code, response.Body)
	}
	return nil
}

// chartMetadata returns the Chart.yaml of a packaged chart as JSON.
func chartMetadata(chart []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(chart))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find Chart.yaml: %w", err)
		}
		if match, _ := path.Match("*/Chart.yaml", header.Name); !match {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		return yaml.YAMLToJSON(content)
	}
}
