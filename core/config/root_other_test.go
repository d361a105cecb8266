//go:build !windows

package config

const root = "/"
