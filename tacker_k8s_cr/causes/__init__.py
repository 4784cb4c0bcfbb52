"""Why an object stands still: what it made, what it lacks, who holds it."""
