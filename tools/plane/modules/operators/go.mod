module tacker-k8s-cr.invalid/plane/operators

go 1.26.0

require (
	github.com/elastic/cloud-on-k8s/v3 v3.5.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
	istio.io/api v1.31.1
)
