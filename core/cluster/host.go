package cluster

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/bits"
	"net"
	"net/netip"
	"strings"
)

// ThisHost is the machine that the program runs on. root is the root of its file system, where /proc is read.
func ThisHost(root fs.FS) Host {
	return Host{Listen: listen, Networks: func() ([]netip.Prefix, error) {
		own, err := interfaces()
		routes, rerr := routes(root)
		return append(own, routes...), errors.Join(err, rerr)
	}}
}

// listen really binds: nothing else tells whether a port is free.
func listen(addr string) error {
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

func interfaces() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	var out []netip.Prefix
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if p, err := netip.ParsePrefix(n.String()); err == nil && p.Addr().Is4() {
				out = append(out, p.Masked())
			}
		}
	}
	return out, err
}

// routes reads Linux's table of IPv4 routes. Elsewhere there is no such file, and interfaces must do.
func routes(root fs.FS) ([]netip.Prefix, error) {
	f, err := root.Open("proc/net/route")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []netip.Prefix
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// Iface Destination Gateway Flags RefCnt Use Metric Mask ..., addresses in the machine's byte order.
		w := strings.Fields(lines.Text())
		if len(w) < 8 {
			continue
		}
		dst, err1 := hex.DecodeString(w[1])
		mask, err2 := hex.DecodeString(w[7])
		if err1 != nil || err2 != nil || len(dst) != 4 || len(mask) != 4 {
			continue // the heading
		}
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], binary.LittleEndian.Uint32(dst))
		out = append(out, netip.PrefixFrom(netip.AddrFrom4(a), bits.OnesCount32(binary.BigEndian.Uint32(mask))))
	}
	return out, lines.Err()
}
