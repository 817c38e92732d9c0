//! The index.

use std::collections::BTreeMap;

use whycrash_server::search::{Change, Field, IndexDocument, Query, Search, SearchPage, SearchRequest, Sort};
use whycrash_server::store::{ReportId, StoreError, Summary};

use super::report;

fn id(name: &str) -> ReportId {
    report(name, &[("core", b"1")], 0).id
}

fn document(name: &str, time: i64, title: &str, text: &[&str], fields: &[(Field, &[&str])]) -> IndexDocument {
    let strings = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    IndexDocument {
        id: id(name),
        time,
        title: vec![title.to_owned()],
        text: strings(text),
        fields: fields
            .iter()
            .map(|(field, values)| (*field, strings(values)))
            .collect::<BTreeMap<_, _>>(),
        summary: Summary {
            id: name.to_owned(),
            title: title.to_owned(),
            ..Summary::default()
        },
    }
}

/// Three crashes that share some words and differ in others.
async fn fill(search: &impl Search) {
    use Field::{Cause, Exception, Host, Kind, Rank, Signal};
    let documents = vec![
        document(
            "segv",
            1,
            "SIGSEGV in at::native::index_select",
            &[
                "Fatal Python error: Segmentation fault",
                "loader.cpp fills the batch",
                "libtorch_cuda.so",
            ],
            &[
                (Signal, &["SIGSEGV"]),
                (Host, &["node-1"]),
                (Kind, &["elf-core", "log"]),
                (Rank, &["0"]),
            ],
        ),
        document(
            "oom",
            2,
            "torch.OutOfMemoryError: CUDA out of memory",
            &["CUDA out of memory. Tried to allocate 20.00 GiB", "train.py:41 in step"],
            &[
                (Exception, &["torch.OutOfMemoryError"]),
                (Cause, &["oom-fragmentation", "oom-capacity"]),
                (Host, &["node-2"]),
                (Kind, &["log"]),
                (Rank, &["0", "3"]),
            ],
        ),
        document(
            "worker",
            3,
            "DataLoader worker (pid 4711) is killed by signal: Killed",
            &["the batch was lost", "std::bad_alloc was thrown; CUDA was not involved"],
            &[
                (Signal, &["SIGKILL"]),
                (Cause, &["dataloader-worker-killed"]),
                (Host, &["node-1"]),
                (Kind, &["log"]),
            ],
        ),
    ];
    put(search, documents).await;
}

fn request(query: &str) -> SearchRequest {
    let query = Query::parse(query).unwrap();
    SearchRequest {
        query,
        period: None,
        limit: 10,
        after: None,
        sort: Sort::Relevance,
        facet_values: 5,
    }
}

async fn find(search: &impl Search, query: &str) -> SearchPage {
    search.search(&request(query)).await.unwrap()
}

fn names(page: &SearchPage) -> Vec<&str> {
    page.hits.iter().map(|hit| hit.id.as_str()).collect()
}

pub async fn queries_find_what_they_say(search: &impl Search) {
    fill(search).await;
    let cases: &[(&str, &[&str])] = &[
        ("", &["worker", "oom", "segv"]),
        ("batch", &["segv", "worker"]),
        ("BATCH", &["segv", "worker"]),
        ("cuda batch", &["segv", "worker"]),
        ("cuda", &["oom", "segv", "worker"]),
        ("memory", &["oom"]),
        ("outofmemoryerror", &["oom"]),
        ("OutOfMemoryError", &["oom"]),
        ("index_select", &["segv"]),
        ("select_index", &[]),
        ("at::native::index_select", &["segv"]),
        ("std::bad_alloc", &["worker"]),
        ("train.py:41", &["oom"]),
        ("\"out of memory\"", &["oom"]),
        ("\"memory of out\"", &[]),
        ("\"20.00 GiB\"", &["oom"]),
        ("seg*", &["segv"]),
        ("\"is kill\"*", &["worker"]),
        ("signal:SIGSEGV", &["segv"]),
        ("signal:sigsegv", &["segv"]),
        ("signal:SIG", &[]),
        ("signal:SIG*", &["worker", "segv"]),
        ("host:node-1", &["worker", "segv"]),
        ("host:\"node-1\"", &["worker", "segv"]),
        ("host:node", &[]),
        ("rank:3", &["oom"]),
        ("kind:elf-core", &["segv"]),
        ("cause:oom-capacity", &["oom"]),
        ("cause:oom-*", &["oom"]),
        ("exception:torch.OutOfMemoryError", &["oom"]),
        ("exception:OutOfMemoryError", &["oom"]),
        ("exception:Memory", &[]),
        ("batch -killed", &["segv"]),
        ("batch NOT killed", &["segv"]),
        ("-cuda", &[]),
        ("-batch", &["oom"]),
        ("host:node-1 -signal:SIGKILL", &["segv"]),
        ("-\"out of memory\" cuda", &["segv", "worker"]),
        ("nothing here", &[]),
        ("--- batch", &["segv", "worker"]),
    ];
    for (query, expected) in cases {
        let page = find(search, query).await;
        let mut found = names(&page);
        assert_eq!(page.total, found.len() as u64, "{query}");
        if query.is_empty() || query.starts_with("signal:") || query.starts_with("host:") {
            assert_eq!(found, *expected, "{query}: without words the newest comes first");
        }
        found.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
    assert_eq!(
        names(&find(search, "cuda").await)[0],
        "oom",
        "a match in the title counts for more"
    );
}

pub async fn facets_count_all_matches(search: &impl Search) {
    fill(search).await;
    let page = search
        .search(&SearchRequest {
            limit: 1,
            ..request("")
        })
        .await
        .unwrap();
    let counts = |field: &str| -> Vec<(String, u64)> {
        page.facets[field]
            .iter()
            .map(|value| (value.value.clone(), value.count))
            .collect()
    };
    assert_eq!((page.total, page.hits.len()), (3, 1));
    assert_eq!(counts("host"), [("node-1".to_owned(), 2), ("node-2".to_owned(), 1)]);
    assert_eq!(counts("kind"), [("log".to_owned(), 3), ("elf-core".to_owned(), 1)]);
    assert_eq!(counts("exception"), [("torch.OutOfMemoryError".to_owned(), 1)]);
    let narrowed = find(search, "signal:SIGKILL").await;
    assert_eq!(narrowed.facets["host"].len(), 1);
    let none = search
        .search(&SearchRequest {
            facet_values: 0,
            ..request("")
        })
        .await
        .unwrap();
    assert!(none.facets.is_empty());
}

pub async fn a_document_replaces_the_one_before(search: &impl Search) {
    fill(search).await;
    put(
        search,
        vec![document("oom", 9, "read again", &["with other words"], &[])],
    )
    .await;
    assert_eq!(find(search, "").await.total, 3);
    assert_eq!(names(&find(search, "other").await), ["oom"]);
    assert_eq!(find(search, "memory").await.total, 0);
    let gone = [id("oom"), id("unknown")].map(Change::Remove);
    search.apply(gone.to_vec()).await.unwrap();
    assert_eq!(find(search, "").await.total, 2);
}

/// Every page of what is found, one after the other; `between` comes before each but the first.
async fn pages(search: &impl Search, request: &SearchRequest, between: impl AsyncFn(usize)) -> Vec<Vec<String>> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let asked = SearchRequest {
            after,
            ..request.clone()
        };
        let page = search.search(&asked).await.unwrap();
        pages.push(page.hits.iter().map(|hit| hit.id.clone()).collect());
        if page.next.is_none() {
            return pages;
        }
        after = page.next;
        between(pages.len()).await;
    }
}

fn numbered(number: i64, time: i64, text: &str) -> IndexDocument {
    document(&format!("r{number:02}"), time, "a crash", &[text], &[])
}

pub async fn pages_and_order(search: &impl Search) {
    put(search, (0..25).map(|n| numbered(n, n, "words")).collect()).await;
    for request in [
        SearchRequest {
            sort: Sort::Newest,
            limit: 10,
            ..request("words")
        },
        // All match alike: then the newest come first.
        SearchRequest {
            limit: 10,
            ..request("words")
        },
    ] {
        let found = pages(search, &request, async |_| {}).await;
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5]);
        let newest_first: Vec<String> = (0..25).rev().map(|n| format!("r{n:02}")).collect();
        assert_eq!(found.concat(), newest_first);
    }
    let only_counts = search
        .search(&SearchRequest {
            limit: 0,
            ..request("words")
        })
        .await
        .unwrap();
    assert_eq!((only_counts.total, only_counts.hits.len()), (25, 0));
    assert_eq!(only_counts.next, None);
}

pub async fn a_time_narrows_what_is_found(search: &impl Search) {
    put(search, (0..25).map(|n| numbered(n, n, "words")).collect()).await;
    for (query, period, expected) in [
        ("words", 5..8, vec!["r07", "r06", "r05"]),
        ("", 23..i64::MAX, vec!["r24", "r23"]),
        ("", i64::MIN..1, vec!["r00"]),
        ("other", 5..8, vec![]),
        ("words", std::ops::Range { start: 8, end: 5 }, vec![]),
    ] {
        let request = SearchRequest {
            period: Some(period.clone()),
            ..request(query)
        };
        let page = search.search(&request).await.unwrap();
        assert_eq!(
            (names(&page), page.total),
            (expected.clone(), expected.len() as u64),
            "{query} {period:?}"
        );
    }
}

/// The index is written anew by what comes, and what happened at one moment has no other order than that of the ids.
pub async fn pages_show_each_result_once_while_others_come(search: &impl Search) {
    put(search, (0..25).map(|n| numbered(n, 7, "words")).collect()).await;
    for sort in [Sort::Newest, Sort::Relevance] {
        let request = SearchRequest {
            sort,
            limit: 4,
            ..request("-late")
        };
        let between = async |page: usize| {
            let number = 100 * page as i64;
            put(
                search,
                vec![numbered(number, 9, "late words"), numbered(page as i64, 7, "words")],
            )
            .await;
        };
        let mut found = pages(search, &request, between).await.concat();
        found.sort();
        let all: Vec<String> = (0..25).map(|n| format!("r{n:02}")).collect();
        assert_eq!(found, all);
    }
}

pub async fn what_is_missing_is_named(search: &impl Search) {
    fill(search).await;
    let missing = search.missing(&[id("oom"), id("new"), id("segv")]).await.unwrap();
    assert_eq!(missing, [id("new")]);
}

pub async fn what_is_here_is_listed(search: &impl Search) {
    fill(search).await;
    let mut ids = [id("oom"), id("segv"), id("worker")];
    ids.sort();
    assert_eq!(search.indexed(None, 10).await.unwrap(), ids);
    assert_eq!(search.indexed(None, 2).await.unwrap(), ids[..2]);
    assert_eq!(search.indexed(Some(&ids[0]), 2).await.unwrap(), ids[1..]);
    search.apply(vec![Change::Remove(ids[1].clone())]).await.unwrap();
    assert_eq!(
        search.indexed(None, 10).await.unwrap(),
        [ids[0].clone(), ids[2].clone()]
    );
}

pub async fn a_new_index_replaces_the_one_before(search: &impl Search) {
    fill(search).await;
    search.verify().await.unwrap();
    search.begin().await.unwrap();
    put(search, vec![document("new", 1, "a crash", &["words"], &[])]).await;
    assert_eq!(
        find(search, "").await.total,
        3,
        "the old one answers until the new one is there"
    );
    search.publish().await.unwrap();
    assert_eq!(names(&find(search, "").await), ["new"]);
    assert_eq!(search.missing(&[id("oom")]).await.unwrap(), [id("oom")]);
    put(search, vec![document("newer", 2, "a crash", &["words"], &[])]).await;
    assert_eq!(names(&find(search, "").await), ["newer", "new"]);
    search.check().await.unwrap();
    search.verify().await.unwrap();
}

pub async fn an_index_that_was_not_begun_is_damaged(search: &impl Search) {
    for checked in [search.check().await, search.verify().await] {
        assert!(matches!(checked, Err(StoreError::Damaged(_))), "{checked:?}");
    }
    let answer = search.search(&request("")).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    fill(search).await;
    search.check().await.unwrap();
    assert_eq!(find(search, "").await.total, 3);
}

pub async fn values_are_found_by_their_ends(search: &impl Search) {
    use Field::{Exception, Gpu, Host};
    let long = format!("{}.end", "d".repeat(3000));
    let many = (0..50_000).map(|n| format!("c{n}")).collect::<Vec<_>>().join(".");
    let documents = vec![
        document("dots", 1, "a", &[], &[(Exception, &["a.b.c.d.e.f.g.h.i.j.Error"])]),
        document("words", 2, "a", &[], &[(Gpu, &["NVIDIA H100 80GB HBM3"])]),
        document("odd", 3, "a", &[], &[(Host, &[".", "..", "", "x..y", "日本.é"])]),
        document("long", 4, "a", &[], &[(Host, &[&long])]),
        document("many", 5, "a", &[], &[(Host, &[&many])]),
    ];
    put(search, documents).await;
    let exact_long = format!("host:{long}");
    let exact_many = format!("host:{}", &many[..4000]);
    let cases: [(&str, &[&str]); 18] = [
        ("exception:a.b.c.d.e.f.g.h.i.j.error", &["dots"]),
        ("exception:Error", &["dots"]),
        ("exception:j.Error", &["dots"]),
        ("exception:h.i.j.Error", &["dots"]),
        ("exception:g.h.i.j.Error", &[]),
        ("exception:a", &["dots"]),
        ("exception:a.b.c.d", &["dots"]),
        ("exception:a.b.c.d.e", &[]),
        ("exception:a.b.c.d.e*", &["dots"]),
        ("exception:e", &[]),
        ("gpu:h100", &["words"]),
        ("gpu:\"nvidia h100*\"", &[]),
        ("gpu:\"nvidia h100\"*", &["words"]),
        ("host:é", &["odd"]),
        ("host:日本.é", &["odd"]),
        (&exact_long, &["long"]),
        (&exact_many, &["many"]),
        ("host:c0", &["many"]),
    ];
    for (query, expected) in cases {
        assert_eq!(names(&find(search, query).await), expected, "{query}");
    }
    let page = find(search, "").await;
    let longest = page.facets["host"].iter().map(|value| value.value.len()).max();
    assert!(longest.is_some_and(|longest| longest <= 256), "{longest:?}");
}

pub async fn a_text_twice_as_long_takes_about_twice_as_long(search: &impl Search) {
    let mut number = 0;
    for piece in ["a.", "aB", "A", "x ", "日", "a.b::C_d ", "\u{0}\u{1F4A5}"] {
        let mut time = async |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let mut best = std::time::Duration::MAX;
            for _ in 0..3 {
                number += 1;
                let fields: [(Field, &[&str]); 2] = [(Field::Host, &[&text]), (Field::Exception, &[&text])];
                let indexed = document(&format!("r{number}"), number, &text, &[&text], &fields);
                let start = std::time::Instant::now();
                put(search, vec![indexed]).await;
                best = best.min(start.elapsed());
            }
            best
        };
        let (once, eight) = (time(60_000).await, time(480_000).await);
        // A cost that grows with the square would be 64 times as much; a commit's own cost is in both.
        assert!(eight < once * 24, "{piece:?}: {once:?} for 60 kB, {eight:?} for 480 kB");
    }
}

/// Puts these into the index, which is begun if there is none.
async fn put(search: &impl Search, documents: Vec<IndexDocument>) {
    if search.check().await.is_err() {
        search.begin().await.unwrap();
        search.publish().await.unwrap();
    }
    search
        .apply(
            documents
                .into_iter()
                .map(|document| Change::Put(Box::new(document)))
                .collect(),
        )
        .await
        .unwrap();
}
