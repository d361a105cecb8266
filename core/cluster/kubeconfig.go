package cluster

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"rigup.dev/rigup/core/engine"
)

// ErrNotYet says that the node has not written its kubeconfig yet.
var ErrNotYet = errors.New("the node has not written its kubeconfig yet")

// kubeconfigPath is where k3s writes the administrator's kubeconfig.
const kubeconfigPath = "/etc/rancher/k3s/k3s.yaml"

// Address is the API of a node as this machine sees it.
func (s Settings) Address() string { return fmt.Sprintf("https://127.0.0.1:%d", s.Port) }

// Kubeconfig reads the administrator's kubeconfig from the node, with the API's address as this machine sees
// it. It holds a key: store it with mode 0600 and print it nowhere. ErrNotYet means: ask again.
func (m *Manager) Kubeconfig(ctx context.Context, st State) ([]byte, error) {
	b, err := m.Engine.CopyFrom(ctx, st.Node.ID, kubeconfigPath)
	if engine.KindOf(err) == engine.NotFound {
		return nil, ErrNotYet
	}
	if err != nil {
		return nil, err
	}
	return rewrite(b, st.Settings.Address())
}

// rewrite changes the servers of a kubeconfig. One that is cut off, because k3s is writing it, is not there yet.
func rewrite(b []byte, server string) ([]byte, error) {
	var c map[string]any
	if err := yaml.Unmarshal(b, &c); err != nil {
		return nil, ErrNotYet
	}
	clusters, _ := c["clusters"].([]any)
	users, _ := c["users"].([]any)
	if len(clusters) == 0 || len(users) == 0 {
		return nil, ErrNotYet
	}
	for _, e := range clusters {
		entry, _ := e.(map[string]any)
		cl, ok := entry["cluster"].(map[string]any)
		if !ok {
			return nil, ErrNotYet
		}
		cl["server"] = server
	}
	return yaml.Marshal(c)
}
