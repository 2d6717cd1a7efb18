"""The parts of `nginxopt.system.files`, which writes all files or none."""
