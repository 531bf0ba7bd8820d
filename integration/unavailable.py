"""The one way for an adapter to say that its target cannot be run here."""


class Unavailable(Exception):
    """The third-party code is missing or not the one that the adapter knows; the message says which and why."""
