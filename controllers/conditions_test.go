package controllers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMessagesAreOneLine(t *testing.T) {
	helm := "Helm install failed: values don't meet the specifications of the schema(s) in the following chart(s):\nwebapp:\n- at '/replicaCount': got string, want integer\n"

	assert.Equal(t, "Helm install failed: values don't meet the specifications of the schema(s) in the following chart(s): "+
		"webapp: - at '/replicaCount': got string, want integer", oneLine(helm))
}
