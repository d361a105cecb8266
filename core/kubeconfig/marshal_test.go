package kubeconfig

import (
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

func marshal(v any) ([]byte, error) { return clientcmd.Write(*v.(*api.Config)) }
