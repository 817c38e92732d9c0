use whycrash_server::api::disposition::attachment;

#[test]
fn names_are_said_so_that_clients_agree() {
    let cases = [
        ("core.4711", "attachment; filename=\"core.4711\""),
        ("train log.txt", "attachment; filename=\"train log.txt\""),
        (
            "a\"; x=\"b",
            "attachment; filename=\"a__ x=_b\"; filename*=UTF-8''a%22%3B%20x%3D%22b",
        ),
        ("a\\b", "attachment; filename=\"a_b\"; filename*=UTF-8''a%5Cb"),
        (
            "50%.log",
            "attachment; filename=\"50_.log\"; filename*=UTF-8''50%25.log",
        ),
        (
            "\u{65e5}.log",
            "attachment; filename=\"_.log\"; filename*=UTF-8''%E6%97%A5.log",
        ),
        (
            "a\r\nb\u{7f}",
            "attachment; filename=\"a__b_\"; filename*=UTF-8''a%0D%0Ab%7F",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(attachment(name), expected);
    }
}
