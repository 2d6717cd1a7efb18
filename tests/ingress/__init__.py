"""nginxopt.ingress."""
