"""The interactive terminal timeline."""
