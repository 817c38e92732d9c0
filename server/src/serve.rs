//! What the binary does: serve, rebuild, make tokens.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, web};
use anyhow::{Context, bail};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::config::{Cli, Command, Config, TokenCommand};
use crate::connections::Connections;
use crate::pipeline::indexer::{self, IndexState};
use crate::pipeline::{self, Pipeline};
use crate::services::{self, Services};
use crate::store::{Scope, Token, TokenRecord, Tokens};
use crate::threads::{Priority, Threads};
use crate::watching::Watching;
use crate::{api, maintenance, plugins, previews, reading, telemetry};

/// Seconds that requests and jobs get to end when the server stops.
const DRAIN_SECONDS: u64 = 20;
/// How long a connection may wait for its next request.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How long a refused body is still read, so that its sender gets to see the answer.
const LINGER: Duration = Duration::from_secs(2);
/// Does what the command line says.
pub async fn execute(cli: Cli) -> anyhow::Result<()> {
    if let Some(Command::Read) = cli.command {
        return reading::child::run();
    }
    let mut config = Config::load(&cli.serve)?;
    config.compiler = Some(whycrash_plugin_host::THIS_PROGRAM.into());
    telemetry::log(config.log_format);
    match cli.command {
        None | Some(Command::Serve) => serve(config).await,
        Some(Command::Reindex) => reindex(config).await,
        Some(Command::Maintain) => maintain(config).await,
        Some(Command::Token(command)) => token(&config, command).await,
        Some(Command::Read) => Ok(()),
    }
}

/// A server that is running.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    handle: ServerHandle,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
    pipeline: Pipeline,
    reopener: tokio::task::JoinHandle<()>,
    renewer: JoinHandle<()>,
    indexer: indexer::Running,
    maintenance: JoinHandle<()>,
    previews: JoinHandle<()>,
    runs: JoinHandle<()>,
    services: Arc<Services>,
    watching: Arc<Watching>,
    /// End with this.
    _threads: [Threads; 2],
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it: requests that are running and reports that are being read get a while to end.
    pub async fn stop(self) -> anyhow::Result<()> {
        // They would last longer than requests get.
        self.watching.end();
        self.handle.stop(true).await;
        self.reopener.abort();
        // What is queued stays queued, and what is not is found at the next start.
        self.renewer.abort();
        // Each of its steps is whole by itself.
        self.maintenance.abort();
        self.previews.abort();
        self.runs.abort();
        self.pipeline.stop(Duration::from_secs(DRAIN_SECONDS)).await;
        self.indexer.stop().await;
        plugins::runs::keep(&self.services).await;
        Ok(self.server.await??)
    }
}

/// Starts serving on the configured address; port 0 chooses a free one.
pub async fn start(mut services: Services) -> anyhow::Result<Running> {
    let listen = services.config.listen;
    let listener = TcpListener::bind(listen).with_context(|| format!("can not listen on {listen}"))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let background = start_threads("background", Priority::Background)?;
    let intake = start_threads("intake", Priority::Intake)?;
    services.background = Some(background.handle().clone());
    services.intake = Some(intake.handle().clone());
    let services = web::Data::new(services);
    if !services.config.is_loopback() && services.tokens.tokens().await?.is_empty() {
        bail!(
            "{address} can be reached from other machines and there is no token: make one with `{}`, or listen on \
             127.0.0.1",
            services.config.first_token_command()
        );
    }
    pipeline::recover(&services.stores).await?;
    let mut indexer = services.indexer();
    indexer.open().await;
    let indexer = indexer.start(background.handle());
    let pipeline = services.start_workers(background.handle())?;
    let renewer = background.handle().spawn(services.renewer().run());
    let reopener = background.handle().spawn(services.reopener().run());
    let maintenance = background
        .handle()
        .spawn(maintenance::run(services.clone().into_inner()));
    let previews = background.handle().spawn(previews::run(services.clone().into_inner()));
    let runs = background
        .handle()
        .spawn(plugins::runs::run(services.clone().into_inner()));
    let kept = services.clone().into_inner();
    let watching = Arc::clone(&services.watching);
    let limits = services.config.limits.clone();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let connections = Arc::new(Connections::new(limits.connections));
    let most = connections.most();
    let counted = Arc::clone(&connections);
    let server = HttpServer::new(move || {
        let services = services.clone();
        App::new()
            .app_data(web::Data::from(Arc::clone(&connections)))
            .wrap(actix_web::middleware::from_fn(api::access::guard))
            .wrap(actix_web::middleware::Compress::default())
            .wrap(actix_web::middleware::from_fn(api::observe))
            .wrap(actix_web::middleware::from_fn(api::head::without_body))
            .configure(move |app| api::configure(app, services.clone()))
    })
    .workers(threads)
    .max_connections((most / threads).max(1))
    .client_request_timeout(Duration::from_secs(limits.idle_seconds.max(1)))
    .keep_alive(KEEP_ALIVE)
    .client_disconnect_timeout(LINGER)
    .on_connect(move |connection, data| counted.opened(connection, data))
    .disable_signals()
    .shutdown_timeout(DRAIN_SECONDS)
    .listen(listener)?
    .run();
    let handle = server.handle();
    Ok(Running {
        address,
        handle,
        server: tokio::spawn(server),
        pipeline,
        reopener,
        renewer,
        indexer,
        maintenance,
        previews,
        runs,
        services: kept,
        watching,
        _threads: [background, intake],
    })
}

fn start_threads(name: &str, priority: Priority) -> anyhow::Result<Threads> {
    Threads::start(name, priority).context("can not start threads")
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let services = Services::open(config)?;
    let access = access(&services).await?;
    let running = start(services).await?;
    tracing::info!("listening on http://{}", running.address());
    tracing::info!("{access}");
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping: no new requests are taken, those that are running end first");
    running.stop().await
}

/// Who gets an answer, and what to do for others to get one.
async fn access(services: &Services) -> anyhow::Result<String> {
    let command = services.config.first_token_command();
    Ok(if !services.tokens.had_any().await? {
        format!("open to this machine alone: for other machines, and behind a proxy, make a token with `{command}`")
    } else if services.tokens.tokens().await?.is_empty() {
        format!("closed to everybody, since the last token was revoked: make another with `{command}`")
    } else {
        "every request needs a token".to_owned()
    })
}

async fn reindex(config: Config) -> anyhow::Result<()> {
    let services = Services::open(config)?;
    let stores = &services.stores;
    stores.jobs.release(&stores.owner).await?;
    let count = pipeline::reopen_all(&services.stores).await?;
    tracing::info!(reports = count, "reading all reports again");
    let indexer = services.indexer();
    indexer.rebuild().await?;
    let background = start_threads("background", Priority::Background)?;
    let indexer = indexer.start(background.handle());
    let pipeline = services.start_workers(background.handle())?;
    loop {
        let counts = services.stores.jobs.counts().await?;
        let index = services.indexer.status(&services.stores).await?;
        if counts.queued + counts.running + index.waiting == 0 && index.state == IndexState::Ready {
            pipeline.stop(Duration::from_secs(DRAIN_SECONDS)).await;
            indexer.stop().await;
            println!("read {count} reports again, {} failed", counts.failed);
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// One round of what the server does by itself from time to time.
async fn maintain(config: Config) -> anyhow::Result<()> {
    let services = Services::open(config)?;
    let round = maintenance::round(&services).await?;
    println!("{round}");
    Ok(())
}

async fn token(config: &Config, command: TokenCommand) -> anyhow::Result<()> {
    let database = services::open_database(config)?;
    match command {
        TokenCommand::Create { scope, name } => create_token(&database, scope, name).await,
        TokenCommand::List => {
            for token in database.tokens().await? {
                let name = whycrash_evidence::printable(&token.name);
                println!("{name}\t{}\t{}", scopes(&token.scopes), token.created);
            }
            Ok(())
        }
        TokenCommand::Revoke { name } => {
            if !database.revoke_token(&name).await? {
                bail!("there is no token named {name:?}: `whycrash-server token list` shows them");
            }
            Ok(())
        }
    }
}

async fn create_token(database: &impl Tokens, scopes: Vec<Scope>, name: Option<String>) -> anyhow::Result<()> {
    let token = Token::generate()?;
    let hash = Token::hash(token.secret());
    let first = !database.had_any().await?;
    let name = name.unwrap_or_else(|| format!("token-{}", &hash.as_str()[..8]));
    let record = TokenRecord {
        name,
        scopes,
        created: Timestamp::now(),
    };
    if !database.add_token(&hash, &record).await? {
        bail!(
            "there is a token named {:?} already: choose another --name, or revoke it",
            record.name
        );
    }
    telemetry::tell(&format!(
        "{} ({}); this is the only time that it is shown:",
        record.name,
        self::scopes(&record.scopes)
    ));
    println!("{}", token.secret());
    if first {
        eprintln!("from now on every request needs a token, also from this machine: set WHYCRASH_TOKEN for `whycrash`");
    }
    Ok(())
}

fn scopes(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(",")
}
