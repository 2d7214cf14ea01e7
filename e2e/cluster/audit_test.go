package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const auditLines = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"operator"},"objectRef":{"resource":"helmreleases","namespace":"apps","name":"web","apiGroup":"helm.toolkit.fluxcd.io","subresource":"status"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"operator"},"objectRef":{"resource":"pods"},"requestReceivedTimestamp":"2026-01-02T03:04:06.000000Z"}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"operator"},"objectRef":{"resource":"pods"},"requestReceivedTimestamp":"2026-01-02T03:04:06.000000Z"}
{"stage":"ResponseComplete","verb":"get","user":{"username":"operator"},"requestReceivedTimestamp":"2026-01-02T03:04:07.000000Z"}
{"stage":"ResponseComplete","verb":"li`

func TestReadRequests(t *testing.T) {
	requests, length, err := readRequests(strings.NewReader(auditLines))
	require.NoError(t, err)
	assert.EqualValues(t, strings.LastIndex(auditLines, "\n")+1, length, "the next reader begins with the unfinished line")
	require.Len(t, requests, 2, "neither ends of watches nor other paths nor unfinished lines count")

	patch, watch := requests[0], requests[1]
	assert.Equal(t, "helmreleases.helm.toolkit.fluxcd.io", patch.Resource)
	assert.Equal(t, "status", patch.Subresource)
	assert.Equal(t, "apps", patch.Namespace)
	assert.Equal(t, "web", patch.Name)
	assert.Equal(t, 200, patch.Code)
	assert.True(t, patch.Write())
	assert.Equal(t, "pods", watch.Resource)
	assert.False(t, watch.Write())
}

func TestReadRequestsReportsWhatItCannotRead(t *testing.T) {
	_, _, err := readRequests(strings.NewReader("no JSON\n"))
	require.Error(t, err)
}
