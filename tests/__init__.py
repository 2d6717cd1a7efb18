"""What is true of nginxopt."""
