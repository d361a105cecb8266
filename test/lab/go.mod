module rigup.dev/rigup/test/lab

go 1.26

require (
	go.yaml.in/yaml/v3 v3.0.4
	golang.org/x/crypto v0.47.0
)
