package controllers

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// BenchmarkFacts measures a query that finds as many objects as it may.
func BenchmarkFacts(b *testing.B) {
	api, err := client.New(config, client.Options{})
	require.NoError(b, err)
	facts, err := NewFacts(config, clocktesting.NewFakeClock(time.Now()))
	require.NoError(b, err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "facts-many"}}
	require.NoError(b, client.IgnoreAlreadyExists(api.Create(b.Context(), namespace)))
	var group sync.WaitGroup
	numbers := make(chan int)
	for range 32 {
		group.Go(func() {
			for i := range numbers {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: fmt.Sprintf("map-%05d", i)}, Data: map[string]string{"a": "b"}}
				assert.NoError(b, client.IgnoreAlreadyExists(api.Create(b.Context(), object)))
			}
		})
	}
	for i := range maxObjects {
		numbers <- i
	}
	close(numbers)
	group.Wait()
	query := v1alpha1.ResourceQuery{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace.Name}
	b.ReportAllocs()
	for b.Loop() {
		objects, err := facts.Read(b.Context(), query, true)
		require.NoError(b, err)
		require.Len(b, objects, maxObjects)
	}
}
