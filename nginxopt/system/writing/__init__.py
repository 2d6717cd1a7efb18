"""Parts of `nginxopt.system.files`, which writes all files or none."""
