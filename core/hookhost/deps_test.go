package hookhost_test

import (
	_ "aead.dev/minisign"
	_ "github.com/Masterminds/semver/v3"
	_ "github.com/tetratelabs/wazero"
	_ "oras.land/oras-go/v2"
	_ "tags.cncf.io/container-device-interface/specs-go"
)
