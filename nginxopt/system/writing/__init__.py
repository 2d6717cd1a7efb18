"""What writing all files or none is made of: see `nginxopt.system.files`."""
