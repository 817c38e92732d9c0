//! The tables, and how an older file becomes a newer one.
//!
//! # How to change the tables
//! Append a step to [`STEPS`]; never edit one that was released. Each step runs once, in a transaction of its own,
//! and `PRAGMA user_version` counts the steps that a file has seen.

use rusqlite::Connection;

use crate::store::{Result, StoreError};

const STEPS: &[&str] = &[
    "
CREATE TABLE reports (
    id          TEXT PRIMARY KEY,
    metadata    TEXT NOT NULL,              -- JSON object as sent
    received    INTEGER NOT NULL,           -- milliseconds since 1970
    state       TEXT NOT NULL,              -- ReportState
    failure     TEXT,                       -- why processing failed
    summary     TEXT NOT NULL,              -- JSON, Summary
    signature   TEXT,                       -- key of the group, once known
    happened    INTEGER NOT NULL            -- milliseconds since 1970, as far as known; else received
) STRICT, WITHOUT ROWID;
CREATE INDEX reports_by_time ON reports (received DESC, id);
CREATE INDEX reports_by_state ON reports (state, id);
CREATE INDEX reports_by_signature ON reports (signature, happened DESC) WHERE signature IS NOT NULL;

CREATE TABLE artifacts (
    report      TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,           -- order in which they were declared
    name        TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    digest      TEXT NOT NULL,              -- SHA-256, hex
    stored      INTEGER NOT NULL,           -- 1 when the bytes are durably here
    PRIMARY KEY (report, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_by_digest ON artifacts (digest);

CREATE TABLE documents (
    report      TEXT PRIMARY KEY REFERENCES reports (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,           -- how often it was made
    made        INTEGER NOT NULL,           -- milliseconds since 1970
    body        TEXT NOT NULL               -- JSON
) STRICT;

CREATE TABLE report_causes (
    report      TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    cause       TEXT NOT NULL,
    position    INTEGER NOT NULL,           -- 0 for the best finding
    PRIMARY KEY (report, cause)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_causes_by_cause ON report_causes (cause);

CREATE TABLE jobs (
    report      TEXT PRIMARY KEY,
    state       TEXT NOT NULL,              -- queued, running or failed
    attempts    INTEGER NOT NULL,           -- how often it was taken, deaths not counted
    deaths      INTEGER NOT NULL,           -- how often who had taken it died
    not_before  INTEGER NOT NULL,           -- queued: when it may be taken; running: when the lease ends
    queued      INTEGER NOT NULL,           -- order of arrival
    owner       TEXT,                       -- who holds the lease
    token       INTEGER NOT NULL,           -- number of the lease
    reason      TEXT                        -- why the last attempt went wrong
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_in_order ON jobs (state, queued);

CREATE TABLE tokens (
    hash        TEXT PRIMARY KEY,           -- SHA-256 of the secret, hex
    name        TEXT NOT NULL UNIQUE,
    scopes      TEXT NOT NULL,              -- JSON list
    created     INTEGER NOT NULL            -- milliseconds since 1970
) STRICT, WITHOUT ROWID;
",
    "
CREATE TABLE report_modules (
    module      TEXT NOT NULL,              -- build id or debug id of a binary that a stack leads through, lower case
    report      TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    lacks_symbols INTEGER NOT NULL,         -- 1 when better symbols could be had
    PRIMARY KEY (module, report)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_modules_by_report ON report_modules (report);

CREATE TABLE arrivals (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    module      TEXT NOT NULL,              -- build id or debug id, lower case
    replaces    INTEGER NOT NULL,           -- 1 when reports that had symbols are meant too
    ready       INTEGER NOT NULL            -- 1 when the symbols are in their place
) STRICT;
",
    "
-- One row from the first token on: a server that had one never is open again.
CREATE TABLE first_token (
    made        INTEGER NOT NULL            -- milliseconds since 1970
) STRICT;
INSERT INTO first_token (made) SELECT min(created) FROM tokens HAVING count(*) > 0;
",
    "
CREATE TABLE outbox (
    report      TEXT PRIMARY KEY,           -- to be indexed anew, or removed from the index if it has no document
    change      INTEGER NOT NULL,           -- grows with every change
    since       INTEGER NOT NULL            -- milliseconds since 1970
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_in_order ON outbox (change);

-- A queue of any length is taken from, and counted, without looking at all of it.
CREATE INDEX jobs_by_arrival ON jobs (queued);
CREATE INDEX jobs_to_take ON jobs (queued) WHERE state IN ('queued', 'running');

ALTER TABLE artifacts ADD COLUMN kind TEXT;                         -- once it was read
ALTER TABLE artifacts ADD COLUMN expired INTEGER NOT NULL DEFAULT 0; -- 1 when its bytes were removed for their age
UPDATE artifacts SET kind = (
    SELECT json_extract(head.value, '$.kind') FROM documents, json_each(documents.body, '$.report.artifacts') AS head
    WHERE documents.report = artifacts.report AND json_extract(head.value, '$.name') = artifacts.name
);
CREATE INDEX artifacts_by_kind ON artifacts (kind, report) WHERE stored = 1;
-- When something of the report came last, in milliseconds since 1970.
ALTER TABLE reports ADD COLUMN touched INTEGER NOT NULL DEFAULT 0;
UPDATE reports SET touched = received;
",
    "
CREATE TABLE evidence (
    report      TEXT PRIMARY KEY REFERENCES reports (id) ON DELETE CASCADE,
    key         TEXT NOT NULL,              -- digest of what it was made of
    reader      INTEGER NOT NULL,           -- version of the reader that made it
    made        INTEGER NOT NULL            -- milliseconds since 1970
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence_parts (
    report      TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    artifact    TEXT,                       -- of a text: whose
    bytes       INTEGER NOT NULL,           -- size as stored
    body        BLOB,                       -- the bytes of a small one
    digest      TEXT,                       -- SHA-256, hex, of one that is a blob
    PRIMARY KEY (report, name)
) STRICT;
CREATE INDEX evidence_parts_by_digest ON evidence_parts (digest) WHERE digest IS NOT NULL;

CREATE TABLE diagnoses (
    report      TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,           -- 1 for the first
    made        INTEGER NOT NULL,           -- milliseconds since 1970
    plugins     TEXT NOT NULL,              -- version of the plugins it was made with
    knowledge   TEXT NOT NULL,              -- version of the knowledge
    evidence    TEXT NOT NULL,              -- key of the evidence it was made of
    body        TEXT NOT NULL,              -- JSON
    PRIMARY KEY (report, version)
) STRICT;

-- Version of plugins and knowledge that the last diagnosis was made with.
ALTER TABLE reports ADD COLUMN diagnosed_with TEXT;

-- A document was both in one. Its evidence has no texts: it is made anew where the artifacts are still there.
INSERT INTO evidence SELECT report, '', 0, made FROM documents;
INSERT INTO evidence_parts (report, name, bytes, body)
    SELECT report, 'evidence', length(body), CAST(json_object(
        'schema', 0, 'report', json_extract(body, '$.report'), 'evidence', json_extract(body, '$.evidence')) AS BLOB)
    FROM documents;
INSERT INTO diagnoses
    SELECT report, version, made, '', '', '', json_object(
        'findings', json_extract(body, '$.findings'), 'plugins', json_extract(body, '$.plugins'),
        'next', json(coalesce(json_extract(body, '$.next'), '[]')),
        'echoes', json(coalesce(json_extract(body, '$.echoes'), '[]')))
    FROM documents;
DROP TABLE documents;

-- Read the artifacts, or diagnose from the evidence that is stored.
ALTER TABLE jobs ADD COLUMN work TEXT NOT NULL DEFAULT 'read';
ALTER TABLE jobs ADD COLUMN large INTEGER NOT NULL DEFAULT 0;        -- 1 when many bytes are to be read
DROP INDEX jobs_to_take;
CREATE INDEX jobs_to_take ON jobs (work DESC, queued) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_to_read ON jobs (state) WHERE work = 'read';
",
    "
CREATE TABLE previews (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL,              -- of the plugin, or id of the page's cause
    version     TEXT NOT NULL,              -- of the plugin; empty for a page
    sha256      TEXT NOT NULL,              -- of its file, hex
    extension   TEXT NOT NULL,              -- zip, wasm or md
    query       TEXT,                       -- whose results are looked at; NULL for all reports
    plugins     TEXT NOT NULL,              -- version of the plugins that its proposals are made with
    knowledge   TEXT NOT NULL,              -- version of the knowledge
    state       TEXT NOT NULL,              -- PreviewState
    reason      TEXT,                       -- why it failed
    created     INTEGER NOT NULL,           -- milliseconds since 1970
    reports     INTEGER NOT NULL,           -- in its scope
    looked_at   INTEGER NOT NULL,
    changed     INTEGER NOT NULL,           -- with a proposal
    replaced    TEXT                        -- JSON: digest and extension of the file it took the place of
) STRICT;

CREATE TABLE preview_reports (
    preview     INTEGER NOT NULL REFERENCES previews (number) ON DELETE CASCADE,
    report      TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    base        INTEGER,                    -- version of the diagnosis it was compared with; NULL until looked at
    conclusion  TEXT,                       -- JSON: the proposal; while it is true, what was true before
    is_true     INTEGER NOT NULL,           -- 1 while the proposal is true
    PRIMARY KEY (preview, report)
) STRICT;
CREATE INDEX preview_reports_by_report ON preview_reports (report);
CREATE INDEX preview_reports_waiting ON preview_reports (preview) WHERE base IS NULL;

CREATE TABLE preview_changes (
    preview     INTEGER NOT NULL,
    change      TEXT NOT NULL,              -- Change
    cause       TEXT NOT NULL,
    report      TEXT NOT NULL,
    PRIMARY KEY (preview, change, cause, report),
    FOREIGN KEY (preview, report) REFERENCES preview_reports (preview, report) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX preview_changes_by_report ON preview_changes (preview, report);
",
    "
CREATE TABLE report_kin (
    key         TEXT NOT NULL,              -- what reports of one incident have in common
    report      TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    job         TEXT,                       -- the attempt of a job, where the report names one
    PRIMARY KEY (key, report)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_kin_by_report ON report_kin (report);
",
    "
-- From the moment when not_before was set until then, in milliseconds: no job waits longer, whatever a clock said.
ALTER TABLE jobs ADD COLUMN pause INTEGER NOT NULL DEFAULT 0;
",
    "
-- The reports of a group that came before one of them.
CREATE INDEX reports_of_group ON reports (signature, received DESC, id DESC) WHERE signature IS NOT NULL;
",
    "
-- Kept, not counted: whoever adds a job asks whether too many wait, and a queue may be long.
CREATE TABLE job_counts (
    state       TEXT NOT NULL,
    work        TEXT NOT NULL,
    jobs        INTEGER NOT NULL,
    PRIMARY KEY (state, work)
) STRICT, WITHOUT ROWID;
INSERT INTO job_counts SELECT state, work, count(*) FROM jobs GROUP BY state, work;
-- A row that INSERT OR REPLACE removes is seen by no trigger (https://sqlite.org/lang_conflict.html): none is used here.
CREATE TRIGGER job_added AFTER INSERT ON jobs BEGIN
    INSERT INTO job_counts VALUES (new.state, new.work, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE state = old.state AND work = old.work;
END;
CREATE TRIGGER job_changed AFTER UPDATE OF state, work ON jobs
    WHEN old.state <> new.state OR old.work <> new.work
BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE state = old.state AND work = old.work;
    INSERT INTO job_counts VALUES (new.state, new.work, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;
DROP INDEX jobs_to_read;
",
];

/// Brings the tables up to date.
pub fn migrate(connection: &mut Connection) -> Result<()> {
    let done: usize = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if done > STEPS.len() {
        return Err(StoreError::Failed(format!(
            "the database was written by a newer version (step {done}, this one knows {}): start that version",
            STEPS.len()
        )));
    }
    for (index, step) in STEPS.iter().enumerate().skip(done) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", index + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
