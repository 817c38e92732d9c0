//! The one way from artifacts to evidence, and from evidence to a diagnosis, shared by the command line and the server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use whycrash_catalog::Catalog;
use whycrash_evidence::Limits;
use whycrash_reading::{History, Input, Reader, Report, ReportLimits, Text};
use whycrash_symbols::Sources;

use crate::case::Case;
use crate::diagnosis::Diagnosis;
use crate::documented::{Documented, LeftOut};
use crate::explain::{self, Explanation};
use crate::health::Runs;
use crate::panel::{Panel, Trial};
use crate::registry::{Installed, Known, Loader, Offered, Registry};
use crate::sandbox::{PluginLimits, Sandbox};
use crate::signing::Trust;
use crate::version::Version;
use crate::{Document, PluginInfo};

/// What a [`Diagnoser`] works with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where symbols come from.
    pub symbols: Sources,
    /// The readers' caps for one artifact.
    pub limits: Limits,
    /// Those for all artifacts of a report together.
    pub report_limits: ReportLimits,
    /// Folders of plugin components (`*.wasm`) and packages (`*.zip`) to run beside the built-in ones.
    pub plugin_folders: Vec<PathBuf>,
    /// Folders of pages of causes beside ours. A page with the id of one of ours stands in its place.
    pub knowledge_folders: Vec<PathBuf>,
    /// Where compiled plugins are kept between runs; nowhere when absent.
    pub cache: Option<PathBuf>,
    /// The program whose `main` begins with [`crate::compile_if_asked`]: it compiles plugins in a process of its own,
    /// with limits. When absent they are compiled in this process, which then has no protection from what that costs.
    pub compiler: Option<PathBuf>,
    /// What one run of one plugin may use; the built-in ones have the defaults.
    pub plugin_limits: PluginLimits,
    /// Whose plugins are taken from those folders.
    pub trust: Trust,
    /// How runs of plugins went before this program was started, by the SHA-256 of their files.
    pub runs_before: BTreeMap<String, Runs>,
}

/// Reads, symbolicates and diagnoses. Cheap to share between threads; make one and keep it.
#[derive(Debug)]
pub struct Diagnoser {
    reader: Reader,
    plugin_limits: Arc<PluginLimits>,
    knowledge_folders: Vec<PathBuf>,
    registry: Arc<Registry>,
    /// Absent where there is no plugin folder.
    loader: Option<Arc<Loader>>,
}

impl Diagnoser {
    /// A diagnoser with the built-in plugins and those in the settings' folders. A plugin that can not be used is no
    /// error here: it is listed with its problem, and has a failed row in every document.
    pub fn new(settings: Settings) -> anyhow::Result<Self> {
        let documented = Documented::read(&settings.knowledge_folders)?;
        let limits = Arc::new(settings.plugin_limits);
        let sandbox = |limits: &PluginLimits| {
            let (cache, compiler) = (settings.cache.clone(), settings.compiler.clone());
            Sandbox::new(limits.clone(), cache, compiler)
        };
        // Two sandboxes, so that the built-in plugins have their places and their limits whatever the others have.
        let loader = (!settings.plugin_folders.is_empty()).then(|| {
            anyhow::Ok(Arc::new(Loader {
                sandbox: sandbox(&limits)?,
                folders: settings.plugin_folders.clone(),
                limits: Arc::clone(&limits),
                trust: settings.trust.clone(),
                runs_before: settings.runs_before.clone(),
            }))
        });
        let loader = loader.transpose()?;
        let registry = Registry::start(&sandbox(&PluginLimits::default())?, documented, loader.as_ref())?;
        if registry.built_in().is_empty() {
            tracing::warn!("no plugins: this program was built without them; run `make plugins` and build again");
        }
        Ok(Self {
            reader: Reader::new(settings.symbols, settings.limits, settings.report_limits),
            plugin_limits: limits,
            knowledge_folders: settings.knowledge_folders,
            registry,
            loader,
        })
    }

    /// The plugins that are known now, by name; those of plugin folders come one after the other as they are compiled.
    /// None when the program was built without them and there is no plugin folder.
    pub fn plugins(&self) -> Vec<PluginInfo> {
        let told = |installed: &Arc<Installed>| PluginInfo {
            notice: installed.set_aside(&self.plugin_limits),
            runs: Some(installed.health.runs()),
            ..installed.info.clone()
        };
        self.registry.now().plugins.iter().map(told).collect()
    }

    /// What one run of the plugin of this name may use; none where there is none that can be used.
    pub fn limits_of(&self, name: &str) -> Option<PluginLimits> {
        let plugins = self.registry.now().plugins;
        let named = plugins.iter().find(|installed| installed.info.name == name)?;
        Some(named.plugin.as_ref()?.limits().clone())
    }

    /// Whether a plugin is set aside, so that diagnoses made now lack what it would say.
    pub fn sets_aside(&self) -> bool {
        let plugins = self.registry.now().plugins;
        plugins
            .iter()
            .any(|installed| installed.set_aside(&self.plugin_limits).is_some())
    }

    /// Lets a plugin run again that is set aside; false where none of this name is.
    pub fn forgive(&self, name: &str) -> bool {
        let plugins = self.registry.now().plugins;
        let named = plugins.iter().find(|installed| installed.info.name == name);
        let aside = named.filter(|installed| installed.set_aside(&self.plugin_limits).is_some());
        aside.inspect(|installed| installed.health.forgive()).is_some()
    }

    /// What a file of a plugin is, as if it were installed: what a server asks before it keeps one. It may have to be
    /// compiled, which can take minutes.
    pub fn look_at(&self, bytes: Vec<u8>) -> Result<Offered, String> {
        Ok(self.offered(bytes)?.0)
    }

    /// The plugins as they would be with this one, which is a component or a package. It may have to be compiled, as
    /// for [`Self::look_at`].
    pub fn trial(&self, bytes: Vec<u8>) -> Result<Trial, String> {
        let (offered, installed) = self.offered(bytes)?;
        let known = self.registry.wait();
        let others = known
            .plugins
            .into_iter()
            .filter(|other| other.info.name != offered.info.name);
        let plugins = others.chain([Arc::new(installed)]).collect();
        Ok(Trial {
            panel: self.panel_of(Known::new(plugins, known.documented)),
            offered,
        })
    }

    /// The plugins as they would be with this page beside the others, or in the place of the one with its id; its
    /// file's name is the id of its cause and `.md`.
    pub fn trial_of_page(&self, file: &str, text: &str) -> Result<Trial, String> {
        let known = self.registry.wait();
        let (documented, id) = known.documented.with_page(file, text)?;
        let offered = Offered {
            info: PluginInfo {
                name: id,
                ..PluginInfo::default()
            },
            bytes: text.as_bytes().to_vec(),
            extension: "md",
        };
        let plugins = known.plugins.iter().map(|plugin| Arc::new(plugin.knowing(&documented)));
        Ok(Trial {
            panel: self.panel_of(Known::new(plugins.collect(), Arc::new(documented))),
            offered,
        })
    }

    fn offered(&self, bytes: Vec<u8>) -> Result<(Offered, Installed), String> {
        match &self.loader {
            Some(loader) => loader.look_at(bytes, self.registry.built_in(), &self.registry.now().documented),
            None => Err("there is no folder for plugins".to_owned()),
        }
    }

    /// The documented causes, and those that plugins bring.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.registry.now().catalog
    }

    /// What is wrong with pages of the knowledge folders, which are left out.
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.registry.now().documented.left_out.clone()
    }

    /// Digest of the pages of all those causes.
    pub fn pages(&self) -> String {
        self.registry.now().pages()
    }

    /// Waits until the plugins of all folders are loaded, as every diagnosis does.
    pub fn wait_for_plugins(&self) {
        self.registry.wait();
    }

    /// Looks into the folders of plugins and pages again. Diagnoses that are under way end with what they began with.
    pub fn reload(&self) {
        let documented = match Documented::read(&self.knowledge_folders) {
            Ok(documented) => documented,
            Err(error) => {
                tracing::warn!("{error:#}; the pages stay as they were");
                self.registry.now().documented
            }
        };
        self.registry.load(self.loader.as_deref(), documented);
    }

    /// The plugins, once those of all folders are loaded.
    pub fn panel(&self) -> Panel {
        self.panel_of(self.registry.wait())
    }

    /// What diagnoses made now depend on beside the evidence.
    pub fn version(&self) -> Version {
        self.panel().version()
    }

    /// Reads the artifacts: evidence, and what is wrong with them, but no findings.
    pub fn read(&self, input: &Input) -> Report {
        self.reader.read(input)
    }

    /// Runs the plugins on what was read. It opens no artifact, and depends on nothing but the report, the plugins and
    /// the knowledge ([`Self::version`]).
    pub fn conclude(&self, report: &Arc<Report>) -> Diagnosis {
        self.panel().conclude(report)
    }

    /// The same with the built-in plugins alone: what it costs is known, and it waits for nothing.
    pub fn first_look(&self, report: &Arc<Report>) -> Diagnosis {
        let mut known = self.registry.now();
        known.plugins.retain(|installed| installed.is_built_in());
        self.panel_of(known).conclude(report)
    }

    /// Why the tables of a page say nothing about a report, or what they match; none where there is no such page.
    pub fn explain(&self, report: &Arc<Report>, cause: &str) -> Option<Explanation> {
        let catalog = self.catalog();
        let page = catalog.get(cause)?;
        Some(explain::explain(&Case::new(Arc::clone(report)), &page.recognise))
    }

    /// The document of a report by the other plugins alone, where this is known of other reports; for whoever writes
    /// one.
    pub fn diagnose_from_outside(&self, input: &Input, history: Option<History>) -> Document {
        let report = Arc::new(Report {
            history,
            ..self.read(input)
        });
        let mut known = self.registry.wait();
        known.plugins.retain(|installed| !installed.is_built_in());
        let panel = self.panel_of(known);
        let diagnosis = panel.conclude(&report);
        Document::render(report.head.clone(), report.evidence.clone(), diagnosis, panel.catalog())
    }

    /// Reads the artifacts, runs the plugins on what they say, and says what is known of the causes.
    pub fn diagnose(&self, input: &Input) -> Document {
        self.diagnose_with_texts(input).0
    }

    /// The same with the lines of what is text, those of files in archives among them, for whoever shows what is cited.
    pub fn diagnose_with_texts(&self, input: &Input) -> (Document, Vec<Text>) {
        let (report, panel) = (Arc::new(self.read(input)), self.panel());
        let diagnosis = panel.conclude(&report);
        // Plugins are gone by now and with them every other holder; a copy would only be made if one were not.
        let (head, evidence, texts) = match Arc::try_unwrap(report) {
            Ok(report) => (report.head, report.evidence, report.texts),
            Err(report) => (report.head.clone(), report.evidence.clone(), Vec::new()),
        };
        let document = Document {
            left_out: panel.left_out().to_vec(),
            ..Document::render(head, evidence, diagnosis, panel.catalog())
        };
        (document, texts)
    }

    fn panel_of(&self, known: Known) -> Panel {
        Panel {
            known,
            limits: Arc::clone(&self.plugin_limits),
        }
    }
}
