package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	created  prometheus.Counter
}

func newMetrics(version, goVersion string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jobs_manager_requests_total", Help: "Requests by route and status code."}, []string{"route", "code"}),
		seconds:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "jobs_manager_request_seconds", Help: "How long requests took."}, []string{"route"}),
		created:  prometheus.NewCounter(prometheus.CounterOpts{Name: "jobs_manager_jobs_created_total", Help: "Jobs that were made."}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "jobs_manager_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go": goVersion}})
	info.Set(1)
	m.registry.MustRegister(m.requests, m.seconds, m.created, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// count counts by the route's pattern, not by the path: a path is the caller's choice, and each would be a series.
func (m *metrics) count(route string, h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &recorder{ResponseWriter: w, code: http.StatusOK}
		h(rec, r)
		m.requests.WithLabelValues(route, strconv.Itoa(rec.code)).Inc()
		m.seconds.WithLabelValues(route).Observe(time.Since(start).Seconds())
	})
}

type recorder struct {
	http.ResponseWriter
	code int
}

func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
