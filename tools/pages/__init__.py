"""Pages whose commands are run: blocks, their output, recordings as SVG."""
