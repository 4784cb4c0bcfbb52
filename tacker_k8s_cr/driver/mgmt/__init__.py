"""The management driver that delivers kubeconfigs."""
