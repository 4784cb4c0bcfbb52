module tacker-k8s-cr.invalid/plane/capo

go 1.26.0

require sigs.k8s.io/cluster-api-provider-openstack v0.14.6
