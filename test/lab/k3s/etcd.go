package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd runs one embedded member until a signal. It stands for k3s's SQLite
// store. All its addresses are loopback ones, so that what it stores is good
// for a node that comes back with another address.
func runEtcd(args []string) int {
	fs := flag.NewFlagSet("etcd", flag.ContinueOnError)
	dir := fs.String("data-dir", "", "")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	client := url.URL{Scheme: "http", Host: "127.0.0.1:2379"}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	cfg := embed.NewConfig()
	cfg.Dir = *dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.Name + "=" + peer.String()
	cfg.LogLevel = "warn"
	// Killed processes lose nothing by this, only a machine that loses power
	// does; start-up is seconds faster on slow disks.
	cfg.UnsafeNoFsync = true
	// The one member is its own majority: it need not wait a second to lead.
	cfg.TickMs, cfg.ElectionMs = 50, 250
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	sig := make(chan os.Signal, 2)
	signal.Notify(sig, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-sig:
	case err := <-e.Err():
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	e.Close()
	return 0
}
