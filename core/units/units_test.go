package units

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{Duration(600 * time.Millisecond), "0.6 s"}, {Duration(6100 * time.Millisecond), "6.1 s"},
		{Duration(9960 * time.Millisecond), "10 s"}, {Duration(41 * time.Second), "41 s"},
		{Duration(59600 * time.Millisecond), "1 min 00 s"}, {Duration(200 * time.Second), "3 min 20 s"},
		{Duration(65 * time.Minute), "1 h 05 min"}, {Duration(59*time.Minute + 59600*time.Millisecond), "1 h 00 min"},
		{Age(75 * time.Hour), "3 days"}, {Age(time.Hour), "1 hour"}, {Age(10 * time.Second), "less than a minute"},
		{Size(389e6), "389 MB"}, {Size(1.24e9), "1.2 GB"}, {Size(12), "12 bytes"}, {Size(9.96e6), "10 MB"},
	} {
		if x.got != x.want {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
}
