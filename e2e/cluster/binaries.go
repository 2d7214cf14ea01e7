package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// KubernetesVersion is the version that a cluster from pinned modules reports.
const KubernetesVersion = "v1.36.3"

const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kubectl           = "kubectl"
	kwok              = "kwok"
	helm              = "helm"
)

// The two Flux controllers, by the names that Kill, Interrupt and Restart take.
const (
	HelmController   = "helm-controller"
	SourceController = "source-controller"
)

const (
	strip             = "-s -w"
	kubernetesVersion = strip +
		" -X k8s.io/component-base/version.gitVersion=" + KubernetesVersion +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=36"
)

// binary says how one program of the cluster is built.
type binary struct {
	name    string
	module  string // folder in tools/
	pkg     string
	ldflags string
	effort  string // the time that the first build takes on two cores
	crds    bool   // the package's module keeps CRDs in config/crd/bases
}

var pinned = []binary{
	{name: etcd, module: "etcd", pkg: "go.etcd.io/etcd/server/v3", ldflags: strip, effort: "a minute"},
	{name: apiServer, module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", ldflags: kubernetesVersion, effort: "3 minutes"},
	{name: controllerManager, module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", ldflags: kubernetesVersion, effort: "a minute"},
	{name: scheduler, module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-scheduler", ldflags: kubernetesVersion, effort: "seconds"},
	{name: kubectl, module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kubectl", ldflags: kubernetesVersion, effort: "half a minute"},
	{name: kwok, module: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", ldflags: strip, effort: "a minute"},
	{name: SourceController, module: SourceController, pkg: "github.com/fluxcd/source-controller", ldflags: strip, effort: "2 minutes", crds: true},
	{name: HelmController, module: HelmController, pkg: "github.com/fluxcd/helm-controller", ldflags: strip, effort: "2 minutes", crds: true},
	{name: helm, module: "helm", pkg: "helm.sh/helm/v4/cmd/helm", ldflags: strip, effort: "a minute"},
}

// Binaries maps the name of a program ("kubectl", "helm", …) to its path.
type Binaries map[string]string

// crds returns the folder with the CRDs of a Flux controller.
func (b Binaries) crds(name string) string {
	return filepath.Join(filepath.Dir(b[name]), name+"-crds")
}

// Build compiles the programs of the cluster from the modules pinned in
// tools/, or only those named, and returns where they are. They are kept in
// the user's cache directory under a hash of what they are made from, so only
// the first call on a machine takes long; progress gets a line per program
// that is compiled. Calls may run at the same time, also in other processes.
func Build(ctx context.Context, progress io.Writer, names ...string) (Binaries, error) {
	root, err := Checkout()
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	wanted := slices.DeleteFunc(slices.Clone(pinned), func(b binary) bool {
		return len(names) > 0 && !slices.Contains(names, b.name)
	})
	found := Binaries{}
	for i, b := range wanted {
		source := filepath.Join(root, "tools", b.module)
		fingerprint, err := b.fingerprint(source)
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", b.name, err)
		}
		target := filepath.Join(cache, "bin", fingerprint, b.name)
		announce := func() {
			fmt.Fprintf(progress, "building %s (%d of %d), takes about %s the first time\n", b.name, i+1, len(wanted), b.effort)
		}
		if err := b.buildOnce(ctx, source, target, announce); err != nil {
			return nil, fmt.Errorf("build %s: %w", b.name, err)
		}
		found[b.name] = target
	}
	return found, nil
}

// CacheDir returns the folder outside of the checkout that keeps the compiled
// programs and the packaged charts between runs.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(dir, "addon-operator"), nil
}

// fingerprint identifies everything that the program is made from.
func (b binary) fingerprint(source string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	fmt.Fprintln(hash, b.ldflags, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return b.module + "-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}

func (b binary) buildOnce(ctx context.Context, source, target string, announce func()) error {
	if exists(target) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	unlock, err := lockFile(filepath.Dir(target) + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if exists(target) {
		return nil
	}
	announce()
	if b.crds {
		if err := b.copyCRDs(ctx, source, target+"-crds"); err != nil {
			return err
		}
	}
	unfinished := target + ".unfinished"
	if _, err := pinnedTool(ctx, source, "build", "-o", unfinished, "-ldflags", b.ldflags, b.pkg); err != nil {
		return err
	}
	return os.Rename(unfinished, target)
}

// copyCRDs keeps the CRDs beside the program, since the module cache that
// they come from may be emptied while the program stays.
func (b binary) copyCRDs(ctx context.Context, source, target string) error {
	if _, err := pinnedTool(ctx, source, "mod", "download", b.pkg); err != nil {
		return err
	}
	module, err := pinnedTool(ctx, source, "list", "-m", "-f", "{{.Dir}}", b.pkg)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.CopyFS(target, os.DirFS(filepath.Join(strings.TrimSpace(module), "config", "crd", "bases")))
}

// pinnedTool runs a go command in a tools module so that its outcome does not
// depend on the machine: no C compiler, no workspace, no flags of the user.
func pinnedTool(ctx context.Context, dir string, args ...string) (string, error) {
	return goTool(ctx, dir, []string{"GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly"}, args...)
}

func goTool(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, failed.Stderr)
		}
		return "", fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return string(out), nil
}

// lockFile waits for the lock on the file at path, which it creates if needed,
// and holds it until unlock is called or the process ends.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
