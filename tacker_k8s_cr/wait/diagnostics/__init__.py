"""Why an object is stalled: its children, missing objects and finalizers."""
