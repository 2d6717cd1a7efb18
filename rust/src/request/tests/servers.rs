//! The server of a request.

use super::Asked;

const TWO: &str = "server { server_name d; return 200 d; } server { server_name a; return 200 $host,$http_host; }";

/// `Host` chooses among the servers of an address. The host of an absolute URI takes precedence.
#[test]
fn the_host_chooses() {
    let of = |line: &str, host: &str| Asked { line, headers: &[host], ..Asked::default() }.of_http(TWO);
    assert_eq!(of("/", "Host: A:77"), "200 a,A:77");
    assert_eq!(of("/", "Host: x"), "200 d");
    assert_eq!(of("http://A:77/", "Host: d"), "200 a,d");
    assert_eq!(of("/", "Host: a/b"), "400");
}

/// The captures of a server name's pattern are still set in the location.
#[test]
fn patterns_of_names() {
    let text = "server { server_name d; } server { server_name ~^(?<s>.+)\\.a$; location / { return 200 $1$s; } }";
    let asked = Asked { headers: &["Host: Q.a"], ..Asked::default() };
    assert_eq!(asked.of_http(text), "200 qq");
}

/// The default server decides how URIs are read.
#[test]
fn merged_slashes() {
    let text = "server { server_name d; } server { server_name m; merge_slashes off; return 200 $uri; }";
    let asked = Asked { line: "//a", headers: &["Host: m"], ..Asked::default() };
    assert_eq!(asked.of_http(text), "200 /a");
    assert_eq!(asked.of_http(&text.replace("server_name d;", "server_name d; merge_slashes off;")), "200 //a");
}

/// Many requests are counted by the directives that took part, and by how they end.
#[test]
fn tallies() {
    let asked = Asked::default();
    let text = "server { rewrite ^/a$ /b; location /b { return 200 b; } location /c { return 404; } }";
    let model = asked.model(text).expect("a site");
    let targets: Vec<(&[u8], u64)> = vec![(b"/a", 2), (b"/b", 3), (b"/c", 5), (b"/a", 7)];
    let tally = model.tally(&asked.request(), &targets, None, &asked.world());
    let mut counts: Vec<u64> = tally.nodes.values().copied().collect();
    counts.sort_unstable();
    assert_eq!(counts, [5, 5, 9, 12, 12, 17], "two of /c, the rewrite, two of /b, the server");
    let mut ends: Vec<_> = tally.ends.iter().map(|(end, ends)| (end.status, ends.count, ends.example)).collect();
    ends.sort_unstable();
    assert_eq!(ends, [(Some(200), 12, 0), (Some(404), 5, 2)]);
    let requests = [asked.request(), Asked { line: "/c", ..Asked::default() }.request()];
    let statuses: Vec<_> = model.answers(&requests, &asked.world()).iter().map(|outcome| outcome.status).collect();
    assert_eq!(statuses, [None, Some(404)]);
}
