//! Lists of nginx's directives, which `build.rs` takes from the tables of facts (`nginxopt/facts`).

include!(concat!(env!("OUT_DIR"), "/facts.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_those_of_the_tables() {
        assert_eq!(SCRIPT, [&b"break"[..], b"if", b"return", b"rewrite", b"set"]);
        assert!(ROWS.contains(&&b"map"[..]) && ROWS.contains(&&b"types"[..]) && !ROWS.contains(&&b"server"[..]));
        assert_eq!(PASSES, ["fastcgi_pass", "grpc_pass", "memcached_pass", "proxy_pass", "scgi_pass", "uwsgi_pass"]);
        assert!(
            SETTINGS.contains(&"root") && SETTINGS.contains(&"grpc_intercept_errors"),
            "a line of its own, and of all"
        );
        assert!(!SETTINGS.contains(&"set") && !SETTINGS.contains(&"@_pass"));
    }
}
