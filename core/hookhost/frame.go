package hookhost

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Parent and child speak in frames: a kind, the length of what follows in four bytes (little endian), and that.
//
// The parent sends the setup and the module, then requests. The child says hello once it has given up what it does
// not need, that the module is decoded, and for each request the log and then a response or a failure.
const (
	frameSetup   = 's' // Limits as JSON
	frameModule  = 'm'
	frameRequest = 'q' // the sum of the whole module, then the request
	frameHello   = 'h'
	frameDecoded = 'd'
	frameLog     = 'l'
	frameAnswer  = 'a'
	frameFailure = 'f' // the cause, a line break, the text
)

const frameHead = 5

// maxReport is the size of a setup and of a failure.
const maxReport = 4 << 10

// fromParent and fromChild are the most bytes that a frame of a kind can have; -1 for a kind that does not exist on
// that way.
func (l Limits) fromParent(kind byte) int {
	switch kind {
	case frameSetup:
		return maxReport
	case frameModule:
		return maxModule
	case frameRequest:
		return l.Request + 32
	}
	return -1
}

func (l Limits) fromChild(kind byte) int {
	switch kind {
	case frameHello, frameDecoded:
		return 0
	case frameLog:
		return l.Log
	case frameAnswer:
		return l.Output
	case frameFailure:
		return maxReport
	}
	return -1
}

// writeFrame writes one frame out of parts.
func writeFrame(w io.Writer, kind byte, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	head := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(n))
	for _, p := range append([][]byte{head}, parts...) {
		if len(p) == 0 {
			continue
		}
		if _, err := w.Write(p); err != nil {
			return fmt.Errorf("write a frame: %w", err)
		}
	}
	return nil
}

// readFrame reads one frame. It makes room for no more than limit allows for the kind, whatever the frame says.
func readFrame(r io.Reader, limit func(kind byte) int) (kind byte, payload []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, fmt.Errorf("read a frame: %w", err)
	}
	n, most := binary.LittleEndian.Uint32(head[1:]), limit(head[0])
	if most < 0 || uint64(n) > uint64(most) {
		return 0, nil, fmt.Errorf("read a frame: kind %q with %d bytes is not possible here", head[0], n)
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("read a frame: %w", err)
	}
	return head[0], payload, nil
}
