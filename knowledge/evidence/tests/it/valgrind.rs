//! What Valgrind prints.

use crate::support::evidence_of;

#[test]
fn valgrind_tells_of_an_error_and_of_the_signal_after_it() {
    let text = "==7== Invalid read of size 4\n==7==    at 0x109156: sum (sum.c:8)\n==7==    by 0x109180: main (in /opt/sum)\n\
                ==7==  Address 0x4a9a068 is 12 bytes inside a block of size 40 free'd\n==7==    at 0x4841984: free (vg_replace_malloc.c:381)\n\
                ==7== \n==7== Process terminating with default action of signal 11 (SIGSEGV): dumping core\n\
                ==7==  Access not within mapped region at address 0x28\n==7==    at 0x10915C: sum (sum.c:9)\n==7== ERROR SUMMARY: 1 errors\n";
    let evidence = evidence_of("train.log", text);
    let told = serde_json::to_value(&evidence.timeline).expect("events are JSON");
    assert_eq!(told[0]["kind"], "sanitizer");
    assert_eq!(told[0]["detail"]["tool"], "memcheck");
    assert_eq!(told[0]["detail"]["access"], "read");
    assert_eq!(told[0]["detail"]["address"], "0x4a9a068");
    assert_eq!(
        told[0]["detail"]["relation"],
        "12 bytes inside a block of size 40 free'd"
    );
    assert_eq!(told[0]["detail"]["function"], "sum");
    assert_eq!(told[1]["detail"]["signal"], "SIGSEGV");
    let stacks: Vec<Vec<_>> = evidence
        .threads
        .iter()
        .map(|thread| thread.frames.iter().map(|frame| frame.line).collect())
        .collect();
    assert_eq!(stacks, [vec![Some(8), None], vec![Some(9)]]);
    let crash = evidence.crash.expect("a signal ended it");
    assert_eq!(crash.signal.as_deref(), Some("SIGSEGV"));
    assert_eq!(crash.address_kind.as_deref(), Some("null"));
}
