"""A stretch of a launch as a figure for a page."""
