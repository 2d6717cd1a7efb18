"""nginxopt: what makes an nginx configuration slow, the fix, and the proof that nothing else changed."""

__version__ = "0.1.0"
