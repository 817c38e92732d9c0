//! Everything a diagnosis plugin in Rust needs.
//!
//! A plugin is a pure function of a report: it reads evidence, and names the documented causes that explain it, each
//! with the places that prove it. The host checks those places, so a plugin quotes what it read and never what it
//! expects.
//!
//! ```
//! use whycrash_plugin::{Diagnosis, Finding, Info, Needs, Plugin, Report, cite};
//!
//! struct RustPanic;
//!
//! impl Plugin for RustPanic {
//!     fn about() -> Info {
//!         Info::new("rust-panic", env!("CARGO_PKG_VERSION")).names(["abrt-rust-panic"]).needs(Needs::any_of(["text"]))
//!     }
//!
//!     fn diagnose(report: &Report) -> Result<Diagnosis, String> {
//!         let panics = report.find(r"^thread '[^']*'.* panicked at ")?;
//!         Ok(panics.first().map_or_else(Diagnosis::nothing, |line| {
//!             Finding::new("abrt-rust-panic", 0.9)
//!                 .because(format!("A Rust thread panicked and the process aborted: {}", line.text.trim()))
//!                 .cite(cite::line(line))
//!                 .into()
//!         }))
//!     }
//! }
//!
//! whycrash_plugin::export!(RustPanic);
//! # fn main() {}
//! ```
//!
//! Where it is not compiled to WebAssembly, [`Report`] is one that tests make of a case (`Report::of_case`), so that
//! plain `cargo test` can call [`Plugin::diagnose`]; [`Diagnosis::findings`] is what it found.
//!
//! Build it as a `cdylib` for `wasm32-unknown-unknown` with `wasm-component-ld` as the linker; the result is a
//! component. A panic is a failed run, of which the row says where and why.

// The generated code names its runtime by a path that must be right here and in a plugin's crate alike.
extern crate self as whycrash_plugin;

pub mod bindings;
pub mod cite;
pub mod facts;
mod finding;
pub mod frames;
mod info;
mod lines;
#[cfg(not(target_family = "wasm"))]
mod mock;
mod report;

#[cfg(target_family = "wasm")]
pub use bindings::whycrash::plugin::evidence::Report;
pub use bindings::whycrash::plugin::evidence::{Artifact, Code, Event, Frame, Line, Module, Software, Thread};
pub use bindings::whycrash::plugin::knowledge::{Domain, Retry};
pub use bindings::whycrash::plugin::types::{Citation, CollectNext, Place};
pub use bindings::whycrash::plugin::{gpu, history, knowledge, memory, ranks};
pub use finding::{Diagnosis, Finding};
pub use info::{Info, Needs};
pub use lines::{Point, key_values, number, series, time_of};
#[cfg(not(target_family = "wasm"))]
pub use mock::Report;
pub use report::{Told, Walk};
pub use whycrash_frames::{Owner, Wait, Waiting};

#[doc(hidden)]
pub use wit_bindgen::rt as runtime;

/// A citation of a line; [`mod@cite`] has those of other places.
pub fn cite(line: &Line) -> Citation {
    cite::line(line)
}

/// The front of a text: at most this many bytes, and whole characters.
pub fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = (0..=bytes).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or_default()]
}

/// The signs that the documented causes' pages carry for machines, one JSON object each: `{"cause": "…", "table":
/// {…}}`. In tests of a plugin there are none. A plugin that evaluates them wants
/// [`recognise_tables`](Report::recognise_tables) of its report: those that may match.
pub fn recognise_tables() -> Vec<String> {
    if cfg!(target_family = "wasm") {
        bindings::recognise_tables()
    } else {
        Vec::new()
    }
}

/// Keeps a line with the run; [`log!`] is how to call it.
#[doc(hidden)]
pub fn log_line(line: &str) {
    if cfg!(target_family = "wasm") {
        bindings::log(line);
    } else {
        println!("{line}");
    }
}

/// A diagnosis plugin.
pub trait Plugin {
    /// What it is, which causes it can name and what evidence it needs.
    fn about() -> Info;

    /// Which causes explain the report. The error says why no diagnosis was possible; it makes the run a failed one, so
    /// a report that the plugin has nothing to say about is [`Diagnosis::nothing`] instead.
    fn diagnose(report: &Report) -> Result<Diagnosis, String>;
}

/// Keeps a line with the run, for whoever develops the plugin.
#[macro_export]
macro_rules! log {
    ($($words:tt)*) => { $crate::log_line(&::std::format!($($words)*)) };
}

/// Makes a type that implements [`Plugin`] the plugin of this component.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        #[cfg(target_family = "wasm")]
        type WhycrashExported = $crate::Exported<$plugin>;
        #[cfg(target_family = "wasm")]
        $crate::bindings::export!(WhycrashExported with_types_in $crate::bindings);
        // Used here too, so that nothing of a plugin is dead code where only its tests are compiled.
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> $crate::Info = <$plugin as $crate::Plugin>::about;
        #[cfg(not(target_family = "wasm"))]
        const _: fn(&$crate::Report) -> ::std::result::Result<$crate::Diagnosis, ::std::string::String> =
            <$plugin as $crate::Plugin>::diagnose;
    };
}

/// The component's exports in terms of a [`Plugin`]; [`export!`] names it.
#[derive(Debug)]
pub struct Exported<P>(std::marker::PhantomData<P>);

#[cfg(target_family = "wasm")]
impl<P: Plugin> bindings::Guest for Exported<P> {
    fn about() -> bindings::PluginInfo {
        std::panic::set_hook(Box::new(|panic| log!("{panic}")));
        P::about().into()
    }

    fn diagnose(report: &Report) -> Result<bindings::Diagnosis, String> {
        std::panic::set_hook(Box::new(|panic| log!("{panic}")));
        let diagnosis = P::diagnose(report)?;
        diagnosis.advice().for_each(|advice| report.advise(advice));
        Ok(diagnosis.into())
    }
}
