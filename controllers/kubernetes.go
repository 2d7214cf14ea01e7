package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// kubernetesMaxAge bounds how long after an upgrade of the cluster its old version is still believed.
const kubernetesMaxAge = time.Minute

// KubernetesVersion reads the cluster's version, and remembers it for a minute.
type KubernetesVersion struct {
	Discovery discovery.ServerVersionInterface
	Clock     clock.PassiveClock

	mu      sync.Mutex
	version string
	readAt  time.Time
}

// Current returns the version, such as v1.36.3; the last one known, or at first the empty string, while the API server does not answer.
func (k *KubernetesVersion) Current(ctx context.Context) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version != "" && k.Clock.Since(k.readAt) < kubernetesMaxAge {
		return k.version
	}
	info, err := k.Discovery.ServerVersion()
	if err != nil {
		logf.FromContext(ctx).Error(err, "Reading the cluster's version; versions that need a certain one are not checked")
		return k.version
	}
	k.version, k.readAt = info.GitVersion, k.Clock.Now()
	return k.version
}
