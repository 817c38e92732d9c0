use whycrash_server::config::Config;
use whycrash_server::config::names::check;

#[test]
fn names_that_lead_nowhere_are_refused() {
    let of = |url: &str, host: &str| {
        check(&Config {
            public_url: Some(url.to_owned()),
            hosts: vec![host.to_owned()],
            ..Config::default()
        })
    };
    for url in [
        "https://crashes.example",
        "http://10.0.0.7:7311/",
        "https://example.org/crashes",
        "http://[::1]:80",
    ] {
        of(url, "localhost").unwrap();
    }
    for url in [
        "",
        "crashes.example",
        "/crashes",
        "ftp://a",
        "https://",
        "https://a/?b",
        "https://a b",
        "https://u:p@a",
        "https://a#b",
    ] {
        let error = of(url, "localhost").unwrap_err().to_string();
        assert!(
            error.contains("public_url") && error.contains("https://crashes.example"),
            "{url}: {error}"
        );
    }
    for host in ["crashes.example", "node_7", "[2001:db8::7]"] {
        of("https://a", host).unwrap();
    }
    for host in [
        "",
        "*",
        "https://a",
        "a:7311",
        "a/b",
        "a b",
        "2001:db8::7",
        "\u{e9}.example",
    ] {
        let error = of("https://a", host).unwrap_err().to_string();
        assert!(error.contains("hosts has"), "{host}: {error}");
    }
}
