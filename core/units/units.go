// Package units writes sizes and times as people say them. Everything that is shown uses it, so that the same
// size looks the same everywhere.
package units

import (
	"fmt"
	"time"
)

// Duration renders a duration as people say it: 0.6 s, 41 s, 3 min 20 s, 1 h 05 min.
func Duration(d time.Duration) string {
	switch {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d.Round(time.Second) < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// Age renders how long ago something was in its largest unit: 3 days, 1 hour.
func Age(d time.Duration) string {
	for _, u := range []struct {
		name string
		d    time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(d / u.d); n == 1 {
			return "1 " + u.name
		} else if n > 1 {
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return "less than a minute"
}

var byteUnits = []struct {
	name string
	size int64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}

// Size renders a number of bytes in decimal units: 389 MB, 1.2 GB.
func Size(n int64) string {
	name, f := Scale(n)
	return f(n) + " " + name
}

// Scale is the unit that fits n, and how numbers are written in it.
func Scale(n int64) (unit string, format func(int64) string) {
	for _, u := range byteUnits {
		if n >= u.size {
			format := "%.0f"
			if float64(n) < 9.95*float64(u.size) {
				format = "%.1f"
			}
			return u.name, func(v int64) string {
				if v == 0 {
					return "0"
				}
				return fmt.Sprintf(format, float64(v)/float64(u.size))
			}
		}
	}
	return "bytes", func(v int64) string { return fmt.Sprint(v) }
}
