//! What every implementation of a store must do: functions over the traits, run here on those of the single binary.

mod blobs;
mod jobs;
mod kin;
mod outbox;
mod outcomes;
mod previews;
mod records;
mod search;
mod upkeep;

use std::cell::Cell;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use whycrash_server::search::tantivy::TantivySearch;
use whycrash_server::store::files::FileBlobs;
use whycrash_server::store::sqlite::Sqlite;
use whycrash_server::store::{ArtifactRecord, Clock, Digest, NewReport, ReportId};

/// A clock that tests set; each thread, and so each test, has its own.
#[derive(Debug)]
struct HandClock;

thread_local! {
    static SECOND: Cell<i64> = const { Cell::new(0) };
}

impl HandClock {
    fn set(second: i64) {
        SECOND.set(second);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(SECOND.get()).unwrap()
    }
}

/// Runs each function on a store made afresh.
macro_rules! suite {
    ($make:expr; $($module:ident :: $($name:ident),+);+) => {
        $($(
            #[tokio::test]
            async fn $name() {
                let folder = TempDir::new().unwrap();
                let make: fn(&TempDir) -> _ = $make;
                $module::$name(&make(&folder)).await;
            }
        )+)+
    };
}

mod sqlite {
    use super::*;

    suite! {
        |folder| Sqlite::with_clock(&folder.path().join("db"), Arc::new(HandClock)).unwrap();
        records::a_report_is_added_once, records_move_forward, reports_are_found_by_how_their_ids_begin, lists_are_newest_first, pages_of_a_list_show_each_report_once,
            groups_count_reports, artifacts_are_noted_by_digest, states_are_walked_in_pages;
        jobs::a_job_is_taken_by_one, a_lease_that_ran_out_is_void, the_queue_is_bounded, failures_wait_and_end,
            what_is_only_to_be_diagnosed_takes_nobodys_place, a_report_that_came_whole_is_added_with_its_job,
            what_was_declared_before_it_came_is_queued_when_it_comes_whole,
            released_jobs_run_again, what_is_to_wait_still_waits_after_a_restart,
            nothing_waits_longer_than_was_asked_because_a_clock_was_wrong,
            what_kills_its_reader_ends_in_quarantine, jobs_are_taken_in_order, what_waits_through_no_fault_of_its_own_is_no_attempt,
            many_jobs_are_added_at_once, large_reports_leave_a_lane_to_small_ones,
            old_reports_leave_a_lane_to_new_ones, a_job_that_was_deleted_and_added_again_is_another;
        outcomes::all_of_it_becomes_true_at_once, a_stale_worker_changes_nothing,
            a_report_that_was_deleted_stays_deleted, diagnoses_are_versions, a_diagnosis_alone_leaves_the_evidence,
            what_is_to_be_read_while_it_is_diagnosed_is_read_after_it, outdated_diagnoses_are_found, what_is_queued_is_not_queued_again,
            texts_go_with_their_artifacts_and_parts_are_referred_to, symbols_that_come_are_counted;
        kin::kin_have_a_key_in_common_and_name_no_other_job, a_report_that_is_read_has_its_kin_diagnosed_again,
            kin_that_came_meanwhile_are_taken_into_account,
            of_very_many_reports_of_an_attempt_those_that_came_first_are_told;
        previews::a_preview_looks_at_each_report_once, proposals_are_grouped_and_compared,
            a_preview_is_applied_and_undone_in_one_step_each, what_became_true_meanwhile_stays,
            a_report_that_is_deleted_leaves_its_previews;
        outbox::changes_wait_in_order, a_change_while_another_is_indexed_goes_on_waiting, everything_can_wait_again,
            what_is_deleted_waits_to_leave_the_index;
        upkeep::what_is_deleted_leaves_nothing, old_reports_are_found, uploads_that_stand_still_are_found,
            artifacts_expire_by_kind_and_age, reports_with_expired_artifacts_are_not_read_again,
            unreferenced_bytes_are_told_apart
    }
}

mod files {
    use super::*;

    suite! {
        |folder| FileBlobs::open(&folder.path().join("blobs")).unwrap();
        blobs::what_is_put_can_be_read, the_same_bytes_are_one_blob, ranges_are_cut_to_the_size, what_is_collected_is_gone,
            what_was_claimed_is_not_collected, blobs_are_listed_in_pages
    }
}

mod tantivy {
    use super::*;

    suite! {
        |folder| TantivySearch::new(&folder.path().join("index"));
        search::queries_find_what_they_say, a_time_narrows_what_is_found, facets_count_all_matches, a_document_replaces_the_one_before,
            pages_and_order, pages_show_each_result_once_while_others_come, what_is_missing_is_named, what_is_here_is_listed, values_are_found_by_their_ends,
            a_text_twice_as_long_takes_about_twice_as_long, a_new_index_replaces_the_one_before,
            an_index_that_was_not_begun_is_damaged
    }
}

/// A report with these artifacts, none of them stored.
pub fn report(host: &str, artifacts: &[(&str, &[u8])], received: i64) -> NewReport {
    let metadata = json!({"host": host}).as_object().unwrap().clone();
    let artifacts: Vec<ArtifactRecord> = artifacts
        .iter()
        .map(|(name, data)| ArtifactRecord {
            name: (*name).to_owned(),
            bytes: data.len() as u64,
            digest: Digest::of(data),
            stored: false,
            expired: false,
        })
        .collect();
    let pairs: Vec<_> = artifacts.iter().map(|a| (a.name.clone(), a.digest.clone())).collect();
    NewReport {
        id: ReportId::derive(&metadata, &pairs),
        metadata,
        artifacts,
        received: Timestamp::from_second(received).unwrap(),
    }
}
