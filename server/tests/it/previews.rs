//! Plugins and pages are tried on stored reports, applied to all of them at once, and undone.

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::published::{HEALTHY, LICENCE, called, licences, listed, page, publish};
use crate::support::{Server, ok, problem};

/// A server with two reports of jobs without a licence, and one of another.
async fn with_reports() -> (Server, Vec<String>) {
    let server = Server::start().await;
    let mut ids = Vec::new();
    for (host, log) in [("a", LICENCE), ("b", LICENCE), ("c", HEALTHY)] {
        let id = server
            .send(json!({"host": host}), &[("train.log", log.as_bytes())])
            .await;
        server.processed(&id).await;
        ids.push(id);
    }
    (server, ids)
}

/// Begins a preview, and waits until it is ready; its number and what it says.
async fn preview(server: &Server, query: &str, body: Vec<u8>) -> (u64, Value) {
    let begun = server.post(&format!("/api/v1/previews{query}")).body(body).send().await;
    let number = ok(begun.unwrap()).await["number"].as_u64().unwrap();
    let path = format!("/api/v1/previews/{number}");
    (number, server.until(&path, |shown| shown["state"] != "running").await)
}

async fn act(server: &Server, number: u64, action: &str) -> Value {
    let path = format!("/api/v1/previews/{number}/{action}");
    ok(server.post(&path).send().await.unwrap()).await
}

async fn findings(server: &Server, id: &str) -> Value {
    server.json(&format!("/api/v1/reports/{id}")).await["findings"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_tried_applied_and_undone() {
    let (server, ids) = with_reports().await;
    let (number, shown) = preview(&server, "", licences("1.0.0", "No licence")).await;
    assert_eq!(shown["state"], "ready", "{shown}");
    assert_eq!(
        (&shown["reports"], &shown["looked_at"], &shown["changed"]),
        (&json!(3), &json!(3), &json!(2))
    );
    assert_eq!(
        shown["changes"],
        json!([{"change": "gained", "cause": "team-licence", "reports": 2}])
    );
    let path = format!("/api/v1/previews/{number}/reports");
    let listed = server.json(&format!("{path}?change=gained&cause=team-licence")).await;
    assert_eq!(listed["reports"].as_array().unwrap().len(), 2);
    let compared = server.json(&format!("{path}/{}", ids[0])).await;
    assert_eq!(
        (&compared["before"], &compared["gained"][0]["cause"]),
        (&json!([]), &json!("team-licence"))
    );
    assert_eq!(compared["after"][0]["citations"][0]["at"], json!({"line": [2, 2]}));
    let unchanged = server.get(&format!("{path}/{}", ids[2])).send().await.unwrap();
    problem(unchanged, 404, "not-found").await;
    for id in &ids {
        assert_eq!(findings(&server, id).await, json!([]), "nothing has changed");
    }
    assert!(called(&server, "team").await.is_empty());

    let applied = act(&server, number, "apply").await;
    assert_eq!(
        (&applied["state"], &applied["reports_changed"]),
        (&json!("applied"), &json!(2))
    );
    for id in &ids[..2] {
        assert_eq!(findings(&server, id).await[0]["title"], "No licence");
    }
    assert!(!called(&server, "team").await.is_empty());
    server.indexed().await;
    assert_eq!(server.find("cause:team-licence").await["total"], 2);
    // What is concluded by a worker is the very same.
    let again = format!("/api/v1/reports/{}/diagnoses", ids[0]);
    let before = server.json(&again).await;
    server.request(Method::POST, &again).send().await.unwrap();
    let after = server
        .until(&again, |after| {
            after["diagnoses"][0]["made"] != before["diagnoses"][0]["made"]
        })
        .await;
    assert_eq!(after["diagnoses"].as_array().unwrap().len(), 2, "{after}");

    let undone = act(&server, number, "undo").await;
    assert_eq!(
        (&undone["state"], &undone["reports_changed"]),
        (&json!("undone"), &json!(2))
    );
    for id in &ids {
        assert_eq!(findings(&server, id).await, json!([]));
    }
    assert!(called(&server, "team").await.is_empty());
    let diff = server.json(&format!("/api/v1/reports/{}/diff", ids[0])).await;
    assert_eq!(diff["lost"][0]["cause"], "team-licence");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undoing_brings_the_plugin_before_back() {
    let (server, ids) = with_reports().await;
    let (first, _) = preview(&server, "", licences("1.0.0", "No licence")).await;
    act(&server, first, "apply").await;
    let (second, _) = preview(&server, "", licences("1.1.0", "No licence")).await;
    act(&server, second, "apply").await;
    let version = async || listed(&server).await["version"].clone();
    assert_eq!(version().await, "1.1.0");
    let undo = server
        .post(&format!("/api/v1/previews/{first}/undo"))
        .send()
        .await
        .unwrap();
    problem(undo, 409, "preview-state").await;
    act(&server, second, "undo").await;
    assert_eq!(version().await, "1.0.0");
    // The same was concluded by both, so that who says it follows report by report.
    let says = |document: &Value| document["findings"][0]["plugin"]["version"] == "1.0.0";
    server.until(&format!("/api/v1/reports/{}", ids[0]), says).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_of_a_search_looks_at_its_results_alone() {
    let (server, ids) = with_reports().await;
    let (number, shown) = preview(&server, "?q=host:b", licences("1.0.0", "No licence")).await;
    assert_eq!(
        (&shown["reports"], &shown["changed"], &shown["query"]),
        (&json!(1), &json!(1), &json!("host:b"))
    );
    act(&server, number, "apply").await;
    assert_eq!(findings(&server, &ids[0]).await, json!([]));
    assert_eq!(findings(&server, &ids[1]).await[0]["cause"], "team-licence");
    let answer = server.post("/api/v1/previews?q=host:").body(licences("1.0.0", "x"));
    problem(answer.send().await.unwrap(), 400, "invalid-query").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_that_was_cut_off_goes_on() {
    let (server, _) = with_reports().await;
    let (number, _) = preview(&server, "", licences("1.0.0", "No licence")).await;
    let server = server
        .restart(|data| {
            // As if the server had been killed after two reports.
            let database = Connection::open(data.join("whycrash.sqlite")).unwrap();
            let one = "(SELECT max(report) FROM preview_reports)";
            database
                .execute_batch(&format!(
                    "DELETE FROM preview_changes WHERE report = {one};
                     UPDATE previews SET state = 'running', looked_at = 2,
                         changed = changed - (SELECT conclusion IS NOT NULL FROM preview_reports WHERE report = {one});
                     UPDATE preview_reports SET base = NULL, conclusion = NULL WHERE report = {one};"
                ))
                .unwrap();
        })
        .await;
    let path = format!("/api/v1/previews/{number}");
    let shown = server.until(&path, |shown| shown["state"] != "running").await;
    assert_eq!(
        (&shown["state"], &shown["looked_at"], &shown["changed"]),
        (&json!("ready"), &json!(3), &json!(2))
    );
    assert_eq!(act(&server, number, "apply").await["reports_changed"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_with_tables_is_tried_applied_and_undone() {
    let server = Server::start().await;
    let log =
        "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\nDeskError: nobody is there\n";
    let id = server.send(json!({}), &[("train.log", log.as_bytes())]).await;
    let before = server.processed(&id).await["findings"].clone();
    let table = "[[recognise]]\nkind = \"python-exception\"\nwhere.exception = { matches = 'DeskError' }\nconfidence = 0.9\n\
                 explanation = \"Nobody was there.\"\n";
    let own = page("desk-licence", "The licence desk is closed", table);
    let (number, shown) = preview(&server, "?page=desk-licence.md", own.into_bytes()).await;
    assert_eq!(shown["changes"][0]["cause"], "desk-licence", "{shown}");
    act(&server, number, "apply").await;
    assert_eq!(findings(&server, &id).await[0]["title"], "The licence desk is closed");
    let server = server.restart(|_| {}).await;
    assert_eq!(findings(&server, &id).await[0]["title"], "The licence desk is closed");
    act(&server, number, "undo").await;
    assert_eq!(findings(&server, &id).await, before);
    let gone = server.get("/api/v1/causes/desk-licence").send().await.unwrap();
    problem(gone, 404, "no-such-cause").await;
}

/// A table with one letter too few, beside one that is right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_does_not_hold_is_refused_or_left_out_by_name() {
    let log =
        "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\nDeskError: nobody is there\n";
    let table = "[[recognise]]\nkind = \"python-exception\"\nwhere.exception = { matches = 'DeskError' }\nconfidence = 0.9\n\
                 explanation = \"Nobody was there.\"\n";
    let typo = table.replace("python-exception", "pythn-exception");
    let knowledge = tempfile::tempdir().unwrap();
    let folder = knowledge.path().join("team");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(
        folder.join("desk-open.md"),
        page("desk-open", "The desk is closed", table),
    )
    .unwrap();
    std::fs::write(folder.join("desk-typo.md"), page("desk-typo", "A typo", &typo)).unwrap();
    let server = Server::with(|config| config.knowledge = vec![folder.clone()]).await;
    let id = server.send(json!({}), &[("train.log", log.as_bytes())]).await;
    let document = server.processed(&id).await;
    assert_eq!(
        (
            &document["findings"][0]["cause"],
            &document["findings"][0]["confidence"]
        ),
        (&json!("desk-open"), &json!(0.9))
    );
    let document = server.json(&format!("/api/v1/reports/{id}")).await;
    let ready = server.json("/readyz").await;
    assert_eq!(ready["status"], "ready", "requests are served all the same");
    for told in [&document, &ready, &server.json("/api/v1/plugins").await] {
        let left_out = &told["left_out"][0];
        assert_eq!(left_out["page"], "team/desk-typo.md", "{told}");
        assert!(
            left_out["message"]
                .as_str()
                .unwrap()
                .contains("did you mean `python-exception`?"),
            "{left_out}"
        );
    }
    let typo = page("desk-other", "A typo", &typo).into_bytes();
    let refused = server
        .post("/api/v1/previews?page=desk-other.md")
        .body(typo)
        .send()
        .await
        .unwrap();
    let refused = problem(refused, 422, "plugin-refused").await;
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("did you mean `python-exception`?"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_not_be_tried_or_done_is_refused_with_the_reason() {
    let (server, _) = with_reports().await;
    let begin = async |query: &str, body: &[u8]| {
        let path = format!("/api/v1/previews{query}");
        server.post(&path).body(body.to_vec()).send().await.unwrap()
    };
    problem(begin("", b"no plugin").await, 422, "plugin-refused").await;
    let refused = problem(
        begin("?page=team-x.md", b"+++\nid = 1\n+++\n").await,
        422,
        "plugin-refused",
    )
    .await;
    assert!(
        refused["detail"].as_str().unwrap().contains("team-x.md, line"),
        "{refused}"
    );
    problem(
        server.get("/api/v1/previews/7").send().await.unwrap(),
        404,
        "no-such-preview",
    )
    .await;
    let (number, _) = preview(&server, "", licences("1.0.0", "No licence")).await;
    act(&server, number, "cancel").await;
    for action in ["apply", "undo", "cancel"] {
        let answer = server.post(&format!("/api/v1/previews/{number}/{action}")).send().await;
        problem(answer.unwrap(), 409, "preview-state").await;
    }
    // Another plugin came after it began: what was seen would not be what comes.
    let (number, _) = preview(&server, "", licences("1.0.0", "No licence")).await;
    publish(&server, licences("2.0.0", "Another")).await;
    let late = page("desk-late", "Too late", "");
    let (page, _) = preview(&server, "?page=desk-late.md", late.into_bytes()).await;
    act(&server, page, "apply").await;
    let answer = server.post(&format!("/api/v1/previews/{number}/apply")).send().await;
    problem(answer.unwrap(), 409, "preview-state").await;
}
