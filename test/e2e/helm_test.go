package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// setHelmStatus rewrites a Helm release record as a run that was cut off leaves it: the status stands in
// the secret's label and inside the packed record.
func setHelmStatus(t *testing.T, s *corev1.Secret, status string) {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(string(s.Data["release"]))
	must(t, err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	must(t, err)
	b, err := io.ReadAll(z)
	must(t, err)
	var rel map[string]any
	must(t, json.Unmarshal(b, &rel))
	rel["info"].(map[string]any)["status"] = status
	b, err = json.Marshal(rel)
	must(t, err)
	var out bytes.Buffer
	g := gzip.NewWriter(&out)
	_, err = g.Write(b)
	must(t, err)
	must(t, g.Close())
	s.Data["release"] = []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
	s.Labels["status"] = status
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
