"""One story: a Cluster API cluster through its whole life."""
