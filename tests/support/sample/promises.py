"""What the help promises, and the tests that prove it every day: they never rotate as a whole.

Of a test with several cases, or of many points, a day runs some of them (`rotation`). `tests/house/test_promises.py`
checks this table: each sentence stands in the help, each test exists and is not left out of `make test`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CRASHES: Final = "tests/simulation/test_crashes.py::test_no_crash_leaves_a_trace"
PROMISES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("guarantees", "Nothing is lost."): (
        CRASHES,
        "tests/e2e/test_pairs.py::test_a_library_arrives_whole_but_for_what_is_named",
        "tests/simulation/test_plans.py::test_a_value_that_is_not_accounted_for_fails_the_run",
        "tests/conformance/test_listings.py::test_a_row_that_a_service_withholds_is_noticed",
    ),
    ("guarantees", "Nothing is duplicated."): (
        CRASHES,
        "tests/e2e/test_kills.py::test_ten_kills_leave_no_trace",
        "tests/conformance/test_creating.py::test_no_crash_doubles_an_asset_or_leaves_it_incomplete",
        "tests/conformance/test_creating.py::test_no_lost_write_doubles_an_asset",
        "tests/simulation/test_copied_states.py::test_what_another_computer_created_since_is_not_created_again",
    ),
    ("guarantees", "The source cannot be written."): (
        "tests/conformance/test_estimated_calls.py::test_a_source_never_writes",
        "tests/e2e/test_one_library.py::test_nothing_is_written_into_the_folder_that_is_read",
        "tests/simulation/test_spelled_urls.py::test_every_spelling_of_one_url_is_one_library",
        "tests/simulation/test_spelled_urls.py::test_two_names_of_one_server_stop_by_what_it_has",
    ),
    ("guarantees", "No asset is removed at the target"): (
        "tests/simulation/test_removals.py"
        "::test_nothing_is_removed_by_default_and_what_is_restored_within_its_grace_leaves_the_list",
        "tests/simulation/test_removals.py"
        "::test_more_than_the_job_allows_stops_the_run_and_what_was_changed_at_the_target_is_parked",
    ),
    ("guarantees", "Parts are removed only if the job wrote them."): (
        "tests/e2e/test_removed_parts.py::test_a_service_without_a_trash_for_attachments_keeps_them",
        "tests/simulation/test_repair.py::test_what_the_source_dropped_goes_and_what_others_added_stays",
    ),
    ("guarantees", "Memberships follow a new version."): (
        "tests/e2e/test_carried_memberships.py::test_an_asset_that_others_took_out_of_a_collection_stays_out",
    ),
    ("guarantees", "Terms and containers are renamed, not duplicated."): (
        "tests/simulation/test_renames.py::test_a_target_looks_as_if_the_new_names_had_been_there_from_the_start",
        "tests/simulation/test_renames.py::test_a_name_that_others_gave_at_the_target_stays",
    ),
    ("guarantees", "Every byte is checked."): (
        "tests/conformance/test_creating.py::test_files_of_any_size_arrive_whole",
        "tests/unit/services/test_d_uploads.py::test_bytes_that_are_not_what_was_promised_leave_no_asset",
    ),
    ("guarantees", "Every file is one version."): (
        "tests/unit/transfer/test_transfer_versions.py::test_no_mixture_of_versions_is_ever_stored",
        "tests/conformance/test_replaced_files.py::test_what_is_read_after_a_break_is_of_the_same_version",
    ),
    ("guarantees", "Losses have names."): (
        "tests/e2e/test_kills.py::test_the_report_of_a_resumed_run_has_every_loss",
        "tests/simulation/test_planted_differences.py::test_every_planted_difference_is_found_and_no_other",
    ),
    ("guarantees", "No surprises."): (
        "tests/e2e/test_guards.py::test_an_emptied_target",
        "tests/e2e/test_guards.py::test_another_tenant_stops_a_run_and_another_url_of_the_same_does_not",
    ),
    ("guarantees", "Done means that it stays."): (
        "tests/unit/engine/test_engine_probation.py"
        "::test_a_removed_duplicate_is_parked_with_its_twin_and_counted_in_the_run",
    ),
    ("guarantees", "Nothing is left behind."): (
        "tests/simulation/test_partial_creates.py::test_no_partial_create_stays_behind",
    ),
    ("guarantees", "One process at a time."): (
        "tests/simulation/test_two_processes.py::test_a_second_process_is_refused",
        "tests/simulation/test_two_processes.py::test_a_process_that_stood_still_writes_nothing_more",
    ),
    ("guarantees", "Temporary failures are retried."): (
        "tests/unit/engine/test_engine_error_policy.py"
        "::test_a_transient_error_is_retried_later_and_later_or_when_the_service_says",
    ),
    ("reports", "makes exactly these operations, or stops with exit code 6"): (
        "tests/simulation/test_plan_files.py::test_a_plan_is_run_operation_by_operation",
        "tests/simulation/test_plans.py::test_a_run_does_what_its_plan_said",
        "tests/simulation/test_plan_files.py::test_another_mapping_is_refused",
    ),
    ("exposure", "Nobody sees more than before:"): (
        "tests/e2e/test_exposure.py::test_nobody_sees_more_than_before_but_for_what_is_accepted",
        "tests/e2e/test_redirects_exposure.py::test_no_redirect_opens_what_was_not_open",
        "tests/e2e/test_exposure_guard.py"
        "::test_what_would_widen_is_set_aside_before_any_write_for_it_and_the_rest_arrives",
    ),
    ("exposure", "A rule is lifted only for what its name says."): (
        "tests/unit/model/test_model_waivers.py::test_a_waiver_counts_for_the_purpose_of_its_name_alone",
        "tests/simulation/test_exposure_waivers.py"
        "::test_a_rollback_shows_nothing_again_but_by_the_rule_that_is_named_after_it",
        "tests/simulation/test_adopted_visibility.py"
        "::test_an_adopted_asset_that_the_job_closes_is_hidden_by_the_next_run",
    ),
    ("rollback", "Undoing one run: what returns, what stays and why"): (
        "tests/simulation/test_rollback.py::test_an_interrupted_run_is_undone_and_not_resumed",
        "tests/simulation/test_rollback.py"
        "::test_what_somebody_changed_stays_and_more_than_is_allowed_stops_before_anything_is_written",
        "tests/simulation/test_rollback_crashes.py::test_no_crash_keeps_changes_from_being_undone",
    ),
    ("operations", "only what changed, judged by the dates of the source."): (
        "tests/e2e/test_delta.py::test_nothing_but_the_changed_field_is_written",
        "tests/e2e/test_delta.py::test_assets_that_left_the_source_are_reported",
        "tests/simulation/test_rotation.py::test_a_change_arrives_with_the_next_run_or_with_the_rotation",
    ),
    ("operations", "A value is in conflict if it changed at the source"): (
        "tests/simulation/test_conflict_policies.py::test_every_conflict_is_resolved_by_the_policy",
        "tests/e2e/test_delta.py::test_what_somebody_changed_in_the_target_is_parked_not_overwritten",
    ),
    ("watch", "Running jobs on their schedules, unattended: catching up"): (
        "tests/e2e/test_watch.py::test_a_run_that_is_killed_is_resumed_by_the_next_watch",
    ),
    ("scale", "The result, the report and the exit codes are those of a run without workers"): (
        "tests/e2e/test_cluster_kills.py::test_a_kill_at_any_moment_leaves_equal_libraries",
        "tests/e2e/test_workers.py::test_an_interrupted_run_ends_its_workers_and_the_next_one_resumes_it",
        "tests/simulation/test_on_postgres.py::test_connections_that_the_server_ends_change_nothing",
    ),
}
TESTS: Final = frozenset(test for tests in PROMISES.values() for test in tests)
