package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fluxRelease = "https://github.com/fluxcd/flux2/releases/latest/download/install.yaml"

// installFlux applies the manifest of Flux's newest release, ties the two
// controllers that are used to the real node, and waits for them.
func (k *kind) installFlux(ctx context.Context) error {
	manifest, err := download(ctx, fluxRelease)
	if err != nil {
		return fmt.Errorf("install Flux: %w", err)
	}
	if err := applyManifest(ctx, k.api, manifest); err != nil {
		return fmt.Errorf("install Flux: %w", err)
	}
	arguments := map[string][]string{
		SourceController: k.options.SourceControllerArgs,
		HelmController:   k.options.HelmControllerArgs,
	}
	for name, args := range arguments {
		if err := k.adaptDeployment(ctx, name, args); err != nil {
			return fmt.Errorf("configure %s: %w", name, err)
		}
	}
	return errors.Join(k.waitAvailable(ctx, SourceController), k.waitAvailable(ctx, HelmController))
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("download %s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

func (k *kind) adaptDeployment(ctx context.Context, name string, args []string) error {
	return k.patchDeployment(ctx, name, func(d *appsv1.Deployment) {
		pod := &d.Spec.Template.Spec
		pod.Containers[0].Args = append(pod.Containers[0].Args, args...)
		pod.Tolerations = []corev1.Toleration{{Key: controlPlaneTaint, Operator: corev1.TolerationOpExists}}
		pod.NodeSelector = map[string]string{controlPlaneTaint: ""}
	})
}

func (k *kind) patchDeployment(ctx context.Context, name string, change func(*appsv1.Deployment)) error {
	var deployment appsv1.Deployment
	if err := k.api.Get(ctx, client.ObjectKey{Namespace: FluxNamespace, Name: name}, &deployment); err != nil {
		return err
	}
	before := client.MergeFrom(deployment.DeepCopy())
	change(&deployment)
	return k.api.Patch(ctx, &deployment, before)
}

func (k *kind) waitAvailable(ctx context.Context, name string) error {
	return poll(ctx, name+" to become available", func(ctx context.Context) (bool, error) {
		var d appsv1.Deployment
		if err := k.api.Get(ctx, client.ObjectKey{Namespace: FluxNamespace, Name: name}, &d); err != nil {
			return false, err
		}
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == 1 && s.AvailableReplicas == 1 && s.Replicas == 1, nil
	})
}

// kill deletes the component's pod without grace.
func (k *kind) kill(ctx context.Context, component string) error {
	err := k.api.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(FluxNamespace),
		client.MatchingLabels{"app": component}, client.GracePeriodSeconds(0))
	if err != nil {
		return fmt.Errorf("kill %s: %w", component, err)
	}
	return nil
}

func (k *kind) interrupt(ctx context.Context, component string) error {
	if err := k.scale(ctx, component, 0); err != nil {
		return err
	}
	return poll(ctx, "the end of "+component, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := k.api.List(ctx, &pods, client.InNamespace(FluxNamespace), client.MatchingLabels{"app": component})
		return len(pods.Items) == 0, err
	})
}

func (k *kind) restart(ctx context.Context, component string) error {
	if err := k.kill(ctx, component); err != nil {
		return err
	}
	if err := k.scale(ctx, component, 1); err != nil {
		return err
	}
	return k.waitAvailable(ctx, component)
}

func (k *kind) scale(ctx context.Context, component string, replicas int32) error {
	err := k.patchDeployment(ctx, component, func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
	if err != nil {
		return fmt.Errorf("scale %s to %d: %w", component, replicas, err)
	}
	return nil
}

// chartHost returns the gateway of kind's network, which is this machine as
// its containers see it.
func (k *kind) chartHost(ctx context.Context) (listen, advertise string, err error) {
	out, err := exec.CommandContext(ctx, "docker", "network", "inspect", "kind",
		"--format", "{{range .IPAM.Config}}{{.Gateway}} {{end}}").Output()
	if err != nil {
		return "", "", fmt.Errorf("find the address of kind's network: %w", err)
	}
	for gateway := range strings.FieldsSeq(string(out)) {
		if strings.Contains(gateway, ".") { // kind's IPv6 network is not reachable everywhere
			return "0.0.0.0", gateway, nil
		}
	}
	return "", "", fmt.Errorf("find the address of kind's network: no IPv4 gateway in %q", out)
}
