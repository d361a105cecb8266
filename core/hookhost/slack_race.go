//go:build race

package hookhost

// slack makes room for the race detector, which needs several times the memory of the program. The child's own watch
// over its memory does not count that.
const slack = 6 << 30
