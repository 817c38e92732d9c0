use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;

use whycrash_server::config::Limits;
use whycrash_server::ingest::pace::{Cut, PaceError, Uploads};

fn uploads(most: usize) -> Arc<Uploads> {
    Arc::new(Uploads::new(&Limits {
        uploads: most,
        idle_seconds: 1,
        bytes_per_second: 1000,
        ..Limits::default()
    }))
}

type Silence = stream::Pending<Result<Vec<u8>, Infallible>>;

fn silence() -> Silence {
    stream::pending()
}

#[tokio::test]
async fn silent_bodies_are_cut() {
    let uploads = uploads(1);
    let upload = uploads.start().unwrap();
    assert!(
        uploads.start().is_none(),
        "the only place is taken by somebody who has just come"
    );
    let piece = upload.next(&mut silence()).await;
    assert!(matches!(piece, Some(Err(PaceError::Cut(Cut::Idle(1))))), "{piece:?}");
}

#[tokio::test]
async fn bodies_that_trickle_are_cut() {
    let upload = uploads(1).start().unwrap();
    let trickle = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some((Ok::<_, Infallible>([0_u8; 1]), ()))
    });
    let mut trickle = Box::pin(trickle);
    let mut pieces = 0;
    let cut = loop {
        match upload.next(&mut trickle).await {
            Some(Ok(_)) => pieces += 1,
            other => break other,
        }
    };
    assert!(matches!(cut, Some(Err(PaceError::Cut(Cut::Slow(1000))))), "{cut:?}");
    assert!(pieces < 12, "{pieces}");
}

#[tokio::test]
async fn who_sends_nothing_makes_room() {
    let uploads = Arc::new(Uploads::new(&Limits {
        uploads: 2,
        ..Limits::default()
    }));
    let (first, second) = (uploads.start().unwrap(), uploads.start().unwrap());
    let mut bytes = stream::iter([Ok::<_, Infallible>(vec![0; 1 << 20])]);
    assert!(matches!(second.next(&mut bytes).await, Some(Ok(_))));
    let (mut body, mut pause) = (silence(), silence());
    let waiting = async {
        tokio::join!(first.next(&mut body), async {
            tokio::time::timeout(Duration::from_secs(2), second.next(&mut pause)).await
        })
    };
    let newcomer = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        uploads.start()
    };
    let ((cut, going_on), newcomer) = tokio::join!(waiting, newcomer);
    assert!(matches!(cut, Some(Err(PaceError::Cut(Cut::Crowded)))), "{cut:?}");
    assert!(going_on.is_err() && newcomer.is_some(), "who has sent a lot may pause");
    drop(first);
    assert!(
        uploads.start().is_none(),
        "a place that was lost is not given back twice"
    );
}
