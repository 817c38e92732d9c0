//! Plugins and pages that change reach the reports that are stored, without a restart.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::published::{HEALTHY, LICENCE, licences, page, publish, switch};
use crate::support::{Server, ok, problem};

/// A log of a job that asked for a licence where nobody was.
const DESK: &str = "step 1\nTraceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    ask()\n\
                    DeskError: nobody answers\n";

/// A page whose table finds what [`DESK`] says.
fn recognising(id: &str) -> String {
    let table = "[[recognise]]\nkind = \"python-exception\"\nwhere.exception = { matches = 'DeskError' }\nconfidence = 0.9\n\
                 explanation = \"Nobody was there.\"\n";
    page(id, "The licence desk is closed", table)
}

/// A server with two reports of jobs that ended like this, and one of another.
async fn with_reports(log: &str) -> (Server, Vec<String>) {
    let server = Server::start().await;
    let mut ids = Vec::new();
    for (host, log) in [("a", log), ("b", log), ("c", HEALTHY)] {
        let id = server
            .send(json!({"host": host}), &[("train.log", log.as_bytes())])
            .await;
        server.processed(&id).await;
        ids.push(id);
    }
    (server, ids)
}

/// Waits until nothing is to be diagnosed anew.
async fn renewed(server: &Server) {
    server
        .until("/api/v1/diagnoses", |progress| progress["waiting"] == 0)
        .await;
}

/// The causes that are found in a report, once a server is done with it.
async fn causes(server: &Server, id: &str) -> Vec<String> {
    renewed(server).await;
    let document = server.json(&format!("/api/v1/reports/{id}")).await;
    let findings = document["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["cause"].as_str().unwrap().to_owned())
        .collect()
}

/// When the last diagnosis of a report was made.
async fn made(server: &Server, id: &str) -> Value {
    let diagnoses = server.json(&format!("/api/v1/reports/{id}/diagnoses")).await;
    diagnoses["diagnoses"][0]["made"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_changes_reaches_stored_reports() {
    let (server, ids) = with_reports(LICENCE).await;
    let (all, none) = (json!({"reports": 3, "of": 3}), [""; 0]);
    let published = publish(&server, licences("1.0.0", "No licence")).await;
    assert_eq!(
        (&published["name"], &published["diagnosed_anew"]),
        (&json!("team"), &all)
    );
    assert_eq!(causes(&server, &ids[0]).await, ["team-licence"]);
    assert_eq!(causes(&server, &ids[2]).await, none);
    server.indexed().await;
    assert_eq!(server.find("cause:team-licence").await["total"], 2);
    let same = publish(&server, licences("1.0.0", "No licence")).await;
    assert_eq!(
        same["diagnosed_anew"],
        json!({"reports": 0, "of": 3}),
        "nothing changed"
    );

    let disabled = ok(switch(&server, "disable").await).await;
    assert_eq!(disabled["diagnosed_anew"], all);
    assert_eq!(causes(&server, &ids[0]).await, none);
    let enabled = ok(switch(&server, "enable").await).await;
    assert_eq!(enabled["diagnosed_anew"], all);
    assert_eq!(causes(&server, &ids[1]).await, ["team-licence"]);
    let removal = server.request(Method::DELETE, "/api/v1/plugins/team").send().await;
    assert_eq!(ok(removal.unwrap()).await["diagnosed_anew"], all);
    assert_eq!(causes(&server, &ids[1]).await, none);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_listed_and_removed_by_name() {
    let (server, ids) = with_reports(DESK).await;
    let body = recognising("team-page");
    let begun = server.post("/api/v1/previews?page=team-page.md&q=host:a").body(body);
    let number = ok(begun.send().await.unwrap()).await["number"].as_u64().unwrap();
    let path = format!("/api/v1/previews/{number}");
    let ready = server.until(&path, |shown| shown["state"] != "running").await;
    assert_eq!(ready["changed"], 1, "{ready}");
    assert_eq!(
        ready["diagnosed_anew"],
        json!({"reports": 2, "of": 3}),
        "what follows is told before"
    );
    let applied = ok(server.post(&format!("{path}/apply")).send().await.unwrap()).await;
    assert_eq!(applied["diagnosed_anew"], json!({"reports": 2, "of": 3}), "{applied}");
    let second = causes(&server, &ids[1]).await;
    assert_eq!(
        second.first().map(String::as_str),
        Some("team-page"),
        "also beside the search"
    );
    let pages = server.json("/api/v1/pages").await;
    let listed = &pages["pages"][0];
    assert_eq!(
        (&listed["id"], &listed["title"], &listed["reports"], &listed["preview"]),
        (
            &json!("team-page"),
            &json!("The licence desk is closed"),
            &json!(2),
            &json!(number)
        ),
        "{pages}"
    );
    let unknown = server.request(Method::DELETE, "/api/v1/pages/team-pgae").send().await;
    let unknown = problem(unknown.unwrap(), 404, "no-such-page").await;
    assert!(
        unknown["detail"]
            .as_str()
            .unwrap()
            .contains("did you mean \"team-page\"?"),
        "{unknown}"
    );
    let removed = server.request(Method::DELETE, "/api/v1/pages/team-page").send().await;
    assert_eq!(
        ok(removed.unwrap()).await["diagnosed_anew"],
        json!({"reports": 3, "of": 3})
    );
    assert!(!causes(&server, &ids[0]).await.contains(&"team-page".to_owned()));
    assert_eq!(server.json("/api/v1/pages").await, json!({"pages": []}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_are_diagnosed_anew_for_who_asks() {
    let (server, ids) = with_reports(LICENCE).await;
    let ask = async |query: &str| server.post(&format!("/api/v1/diagnoses{query}")).send().await.unwrap();
    let (first, third) = (made(&server, &ids[0]).await, made(&server, &ids[2]).await);
    let asked = ask("?q=host:a").await;
    assert_eq!(asked.status(), StatusCode::ACCEPTED);
    assert_eq!(asked.json::<Value>().await.unwrap(), json!({"reports": 1, "of": 3}));
    renewed(&server).await;
    assert_ne!(made(&server, &ids[0]).await, first);
    assert_eq!(made(&server, &ids[2]).await, third, "nobody asked for it");
    let versions = server.json(&format!("/api/v1/reports/{}/diagnoses", ids[0])).await;
    assert_eq!(
        versions["diagnoses"].as_array().unwrap().len(),
        1,
        "nothing else is concluded"
    );
    assert_eq!(ok(ask("?all=true").await).await, json!({"reports": 3, "of": 3}));
    renewed(&server).await;
    assert_ne!(made(&server, &ids[2]).await, third);
    for wrong in ["", "?q=host:a&all=true"] {
        problem(ask(wrong).await, 400, "invalid-request").await;
    }
    problem(ask("?q=hots:a").await, 400, "invalid-query").await;
    let ready = server.json("/readyz").await;
    assert_eq!(ready["diagnosing_anew"], json!({"waiting": 0, "of": 0}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_asked_for_is_done_after_a_restart() {
    let (server, ids) = with_reports(LICENCE).await;
    let before = made(&server, &ids[1]).await;
    let server = server
        .restart(|data| {
            // As a server leaves it that was killed before it had queued anything.
            let database = rusqlite::Connection::open(data.join("whycrash.sqlite")).unwrap();
            database
                .execute("UPDATE reports SET diagnosed_with = NULL", [])
                .unwrap();
        })
        .await;
    let path = format!("/api/v1/reports/{}/diagnoses", ids[1]);
    server
        .until(&path, |diagnoses| diagnoses["diagnoses"][0]["made"] != before)
        .await;
    renewed(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_ids_are_looked_up() {
    let (server, ids) = with_reports(LICENCE).await;
    for id in &ids {
        let found = server
            .json(&format!("/api/v1/reports?prefix={}", &id[..8].to_uppercase()))
            .await;
        assert_eq!(found["reports"][0]["id"], **id, "{found}");
        assert_eq!(found["total"], found["reports"].as_array().unwrap().len());
    }
    let none = server.json(&format!("/api/v1/reports?prefix={}", "f".repeat(31))).await;
    assert_eq!((&none["total"], &none["reports"]), (&json!(0), &json!([])));
    for wrong in ["abc", "xyzxyz", &"a".repeat(33), "ab%25"] {
        let answer = server
            .get(&format!("/api/v1/reports?prefix={wrong}"))
            .send()
            .await
            .unwrap();
        problem(answer, 400, "invalid-request").await;
    }
}
