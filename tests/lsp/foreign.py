"""Configurations of other programs, in the forms of their documentation, each shortened to what shows its syntax."""

FOREIGN = {
    "apache": """\
ServerRoot "/etc/apache2"
Listen 80
<VirtualHost *:80>
    ServerName www.example.com
    DocumentRoot /var/www
    RewriteEngine On
    RewriteRule ^/old$ /new [R=301]
    <Directory /var/www>
        Require all granted
    </Directory>
</VirtualHost>
""",
    "systemd": """\
[Unit]
Description=A service
After=network.target

[Service]
ExecStart=/usr/sbin/daemon
User=www-data
Restart=on-failure
""",
    "redis": """\
# Redis configuration
include /path/to/local.conf
bind 127.0.0.1 -::1
port 6379
timeout 0
save 900 1
maxmemory 2gb
""",
    "mysql": """\
[mysqld]
user = mysql
port = 3306
datadir = /var/lib/mysql
; a comment
key_buffer_size = 16M
""",
    "php-fpm": """\
; Start a new pool named 'www'.
[www]
user = www-data
listen = /run/php/php-fpm.sock
pm = dynamic
include=/etc/php/*.conf
""",
    "bind": """\
options {
    directory "/var/cache/bind";
    recursion no;
};
zone "example.com" {
    type master;
    file "/etc/bind/db.example.com";
};
""",
    "haproxy": """\
global
    daemon
    user haproxy
defaults
    mode http
    timeout connect 5s
frontend www
    bind *:80
    default_backend app
backend app
    server a 127.0.0.1:8080
""",
    "logrotate": """\
/var/log/app/*.log {
    weekly
    rotate 4
    compress
}
""",
    "hocon": """\
http {
  host = "localhost"
  port = 8080
}
akka { loglevel = "INFO" }
""",
    "dhcpd": """\
option domain-name "example.org";
default-lease-time 600;
subnet 10.5.5.0 netmask 255.255.255.224 {
  range 10.5.5.26 10.5.5.30;
  option routers 10.5.5.1;
}
""",
    "caddy": """\
example.com {
    root * /srv
    reverse_proxy localhost:9000
    file_server
}
""",
    "nftables": """\
flush ruleset
table inet filter {
    chain input {
        type filter hook input priority 0; policy accept;
    }
}
""",
    "squid": """\
acl localnet src 10.0.0.0/8
http_access allow localnet
http_port 3128
cache_dir ufs /var/spool/squid 100 16 256
""",
    "ssh": """\
Port 22
PermitRootLogin no
Match User backup
    ForceCommand internal-sftp
""",
    "script": """\
#!/bin/sh
set -e; if true; then return; fi
break; set x; return 1
""",
    "yaml": """\
server:
  port: 8080
upstream:
  - a
""",
    "ld.so": """\
include /etc/ld.so.conf.d/*.conf
/usr/local/lib
""",
    "varnish": """\
vcl 4.1;
backend default {
    .host = "127.0.0.1";
    .port = "8080";
}
sub vcl_recv {
    set req.url = "/";
    return (hash);
}
""",
    "lighttpd": """\
server.modules = ( "mod_access" )
server.port = 80
$HTTP["host"] == "example.org" {
  server.document-root = "/srv"
}
""",
}
