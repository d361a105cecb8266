//go:build !race

package hookhost

// slack is how much more than Process the system's own limit allows, so that the child can still say what happened.
const slack = 112 << 20
