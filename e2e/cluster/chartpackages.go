package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	versionsFile   = "versions.txt"
	overlaysFolder = "versions"
)

// PackageCharts packages every version of every chart in e2e/charts and
// returns the folder with the packages and their index.yaml. It does nothing
// when the charts are as they were the last time.
//
// The versions of a chart are the lines of its versions.txt. The files in
// versions/<version>, if there are any, replace those of the same name for that
// version; templates can also look at .Chart.Version.
func PackageCharts(ctx context.Context) (string, error) {
	binaries, err := Build(ctx, io.Discard, helm)
	if err != nil {
		return "", err
	}
	source, err := ChartsDir()
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	fingerprint, err := hashFolder(source)
	if err != nil {
		return "", fmt.Errorf("read the test charts: %w", err)
	}
	target := filepath.Join(cache, "charts", fingerprint)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", fmt.Errorf("package the test charts: %w", err)
	}
	unlock, err := lockFile(target + ".lock")
	if err != nil {
		return "", fmt.Errorf("package the test charts: %w", err)
	}
	defer unlock()
	if exists(target) {
		return target, nil
	}
	p := packager{helm: binaries[helm], source: source}
	if err := p.packageAll(ctx, target); err != nil {
		return "", fmt.Errorf("package the test charts: %w", err)
	}
	return target, nil
}

// packager turns chart sources into packages.
type packager struct {
	helm, source string
}

func (p packager) packageAll(ctx context.Context, target string) (err error) {
	unfinished, err := os.MkdirTemp(filepath.Dir(target), "unfinished-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(unfinished)) }()
	lists, err := filepath.Glob(filepath.Join(p.source, "*", versionsFile))
	if err != nil {
		return err
	}
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		for version := range strings.FieldsSeq(string(content)) {
			if err := p.packageOne(ctx, filepath.Dir(list), version, unfinished); err != nil {
				return err
			}
		}
	}
	if err := p.run(ctx, "repo", "index", unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, target)
}

func (p packager) packageOne(ctx context.Context, chart, version, target string) (err error) {
	work, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := stageChart(chart, version, work); err != nil {
		return err
	}
	return p.run(ctx, "package", work, "--version", version, "--app-version", version, "--destination", target)
}

// stageChart writes one version of a chart, as it will be packaged, to a folder.
func stageChart(chart, version, target string) error {
	if err := os.CopyFS(target, os.DirFS(chart)); err != nil {
		return err
	}
	overlays := filepath.Join(target, overlaysFolder)
	overlay := filepath.Join(overlays, version)
	if exists(overlay) {
		if err := overwrite(target, overlay); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(overlays), os.Remove(filepath.Join(target, versionsFile)))
}

// overwrite moves the files of overlay over those of target.
func overwrite(target, overlay string) error {
	return filepath.WalkDir(overlay, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(overlay, path)
		if err != nil {
			return err
		}
		destination := filepath.Join(target, relative)
		if err := os.MkdirAll(filepath.Dir(destination), 0o755); err != nil {
			return err
		}
		return os.Rename(path, destination)
	})
}

func (p packager) run(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, p.helm, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// hashFolder identifies the names and contents of all files in a folder.
func hashFolder(dir string) (string, error) {
	hash := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s %d\n", relative, len(content))
		hash.Write(content)
		return nil
	})
	return hex.EncodeToString(hash.Sum(nil))[:16], err
}
