//! Clients that stall, trickle or vanish, many at one time.

use std::time::Duration;

use super::Size;
use crate::case::{Case, Expect, bytes, head};
use crate::wire::Step;

/// Time within which a server must have ended a connection on which nothing moves.
const STALL: Duration = Duration::from_secs(150);

/// Cases that aim at what is held while a client is waited for.
pub fn cases(size: Size) -> Vec<Case> {
    let crowd = size.pick(64, 200);
    let form = head(
        "POST",
        "/api/v1/reports",
        &[
            ("Content-Type", "multipart/form-data; boundary=x"),
            ("Content-Length", "1000000"),
        ],
    );
    let json = head(
        "POST",
        "/api/v1/reports",
        &[("Content-Type", "application/json"), ("Content-Length", "1000000")],
    );
    let front = b"--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.log\"\r\n\r\nRuntimeError";
    let quiet = Step::Pause(Duration::from_secs(1));
    let mut cases = vec![
        Case::steps(
            "forms of which nothing comes",
            vec![Step::Send(form.clone().into()), quiet.clone()],
        )
        .clients(crowd),
        Case::steps(
            "forms that stop in a file",
            vec![Step::Send([form.as_slice(), front].concat().into()), quiet.clone()],
        )
        .clients(crowd),
        Case::steps(
            "JSON that stops",
            vec![
                Step::Send([json.as_slice(), b"{\"artifacts\": ["].concat().into()),
                quiet.clone(),
            ],
        )
        .clients(crowd),
        Case::steps(
            "heads that are not ended",
            vec![Step::Send(bytes("POST /api/v1/reports HTTP/1.1\r\nX: ")), quiet],
        )
        .clients(crowd),
    ];
    for case in &mut cases {
        case.expect = Expect::Ended;
        case.patience = STALL;
    }
    let vanish = |name: &str, sent: &[u8]| {
        Case::steps(name, vec![Step::Send(sent.into()), Step::Vanish])
            .clients(crowd)
            .expect(Expect::Nothing)
    };
    cases.push(vanish(
        "forms whose client vanishes",
        &[form.as_slice(), front].concat(),
    ));
    cases.push(vanish("JSON whose client vanishes", &json));
    cases.push(vanish(
        "searches whose client vanishes",
        &head("GET", "/api/v1/search?q=a", &[]),
    ));
    if size == Size::Full {
        let trickle = vec![
            Step::Send(json.into()),
            Step::Trickle(bytes(vec![b' '; 100]), Duration::from_millis(1000)),
        ];
        cases.push(
            Case::steps("JSON byte by byte", trickle)
                .clients(crowd)
                .expect(Expect::Ended)
                .patience(STALL),
        );
        let trickle = vec![
            Step::Send([form.as_slice(), front].concat().into()),
            Step::Trickle(bytes(vec![b'a'; 100]), Duration::from_millis(1000)),
        ];
        cases.push(
            Case::steps("files byte by byte", trickle)
                .clients(crowd)
                .expect(Expect::Ended)
                .patience(STALL),
        );
    }
    cases
}
