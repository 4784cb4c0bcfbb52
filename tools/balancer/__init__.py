"""A TCP balancer whose routes can be taken out, delayed, held and cut.

It is the load balancer in front of the plane's API servers, and the way from
each of them to its etcd member. ``python -m tools.balancer`` runs it.
"""
